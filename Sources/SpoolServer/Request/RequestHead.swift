package import SpoolCore

/// The supported versions of HTTP. A request with a higher minor version is answered as 1.1 (RFC
/// 9110 §2.5).
package enum HTTPVersion: Hashable, Sendable {
    case http10, http11
}

/// The request line and field lines of a request.
///
/// The field lines stay in the bytes as received. Strings are made only for fields that are read.
package struct RequestHead: Sendable {
    /// The method as received. Methods are case-sensitive.
    package let method: String
    /// The target as received (a path with query, an absolute URI, or `*`), with bytes outside
    /// ASCII percent-encoded.
    package let target: String
    /// The HTTP version of the request.
    package let version: HTTPVersion
    /// Whether the client asks to keep the connection for a further request.
    package let keepAlive: Bool
    /// The length of the body that follows, in bytes.
    package let contentLength: Int64
    /// Whether the client waits for an interim response before it sends its body (RFC 9110
    /// §10.1.1).
    package let expectsContinue: Bool
    /// The statement of a proxy before the server, or nil for a request of the client
    /// itself.
    package internal(set) var forwarding: Forwarding?
    /// The head's bytes, which `lines` refers to.
    private let bytes: [UInt8]
    private let lines: [FieldLine]
    /// A bit for each length of a name, which rules out most absent names without a comparison.
    private let nameLengths: UInt64

    /// The positions of a field line's name and value in the head.
    struct FieldLine {
        var nameStart: UInt32
        var nameEnd: UInt32
        var valueStart: UInt32
        var valueEnd: UInt32

        var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
        var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
    }

    init(
        method: String, target: String, version: HTTPVersion, keepAlive: Bool, bytes: [UInt8], lines: [FieldLine],
        contentLength: Int64 = 0, expectsContinue: Bool = false
    ) {
        self.contentLength = contentLength
        self.expectsContinue = expectsContinue
        self.method = method
        self.target = target
        self.version = version
        self.keepAlive = keepAlive
        self.bytes = bytes
        self.lines = lines
        nameLengths = lines.reduce(0) { $0 | Self.bit($1.name.count) }
    }

    private static func bit(_ length: Int) -> UInt64 { 1 << UInt64(min(length, 63)) }

    /// Creates a request from parts, for tests and in-memory callers. All fields together take less
    /// than 64 KiB.
    package init(
        method: String = "GET", target: String, version: HTTPVersion = .http11, keepAlive: Bool = true, fields: HTTPFields = HTTPFields()
    ) {
        var bytes: [UInt8] = []
        var lines: [FieldLine] = []
        for field in fields.lines {
            let name = UInt32(bytes.count)
            bytes += field.name.utf8
            let value = UInt32(bytes.count)
            bytes += field.value.fieldBytes
            lines.append(FieldLine(nameStart: name, nameEnd: value, valueStart: value, valueEnd: UInt32(bytes.count)))
        }
        self.init(method: method, target: target, version: version, keepAlive: keepAlive, bytes: bytes, lines: lines)
    }

    /// The field lines in order. Each access makes a new value, so read it once.
    package var fields: HTTPFields {
        HTTPFields(lines.map { HTTPFields.Field(name: text($0.name), value: text($0.value)) })
    }

    /// The first value of the field `name`, or nil when it is absent.
    package subscript(name: HTTPFields.Name) -> String? {
        line(name.text).map { text($0.value) }
    }

    /// Returns whether there is a field `name`.
    package func has(_ name: HTTPFields.Name) -> Bool {
        line(name.text) != nil
    }

    /// The authority of the request: that of an absolute target, else the `Host` field (RFC 9112
    /// §3.3), or nil when there is neither.
    package var authority: String? {
        guard let rest = afterScheme else { return self[.host] }
        return String(decoding: rest.prefix { !Self.endsAuthority($0) }, as: UTF8.self)
    }

    /// The authority by which the client reaches the server, through the proxies before it if there
    /// are any.
    package var publicAuthority: String? { forwarding?.authority ?? authority }

    /// The scheme by which the client reaches the server.
    package var publicScheme: String { forwarding?.scheme ?? "http" }

    /// Returns the rest of a URL behind an authority of this server, or nil for a URL elsewhere.
    /// The scheme does not count, because a proxy before the server may add TLS.
    package func ownPath(of url: String) -> Substring? {
        guard let scheme = ["http://", "https://"].first(where: url.hasPrefix) else { return nil }
        let rest = url.dropFirst(scheme.count), place = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return [authority, publicAuthority].contains { $0?.equalsIgnoringCase(String(place)) == true } ? rest.dropFirst(place.count) : nil
    }

    /// The path and query of the target, or `/` for an absolute target without path.
    package var path: String {
        guard let rest = afterScheme else { return target }
        let path = String(decoding: rest.drop { !Self.endsAuthority($0) }, as: UTF8.self)
        return path.hasPrefix("/") ? path : "/" + path
    }

    /// The text after `://` in an absolute target.
    private var afterScheme: Substring.UTF8View? {
        guard !target.hasPrefix("/"), let colon = target.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return Substring(target.utf8[colon...].dropFirst(3)).utf8
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    /// Calls `body` with the received head and the position of its `Range` value, or nil when it
    /// has no `Range`. Returns nil without a call when there are several.
    func withRangeValue<R>(_ body: (UnsafeRawBufferPointer, Range<Int>?) -> R?) -> R? {
        bytes.withUnsafeBytes { bytes in
            let found = lines.filter { Grammar.matches(UnsafeRawBufferPointer(rebasing: bytes[$0.name]), "range") }
            return found.count <= 1 ? body(bytes, found.first?.value) : nil
        }
    }

    private func line(_ name: String) -> FieldLine? {
        let count = name.utf8.count
        guard nameLengths & Self.bit(count) != 0 else { return nil }
        return lines.first { line in
            line.name.count == count && zip(bytes[line.name], name.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
        }
    }

    private func text(_ range: Range<Int>) -> String { String(fieldBytes: bytes[range]) }
}
