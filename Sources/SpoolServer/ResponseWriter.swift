package import SpoolCore

/// Writes response heads (RFC 9112 §4).
///
/// A name or value that would end its line is refused, so no field of an origin's can become a response of its own.
package struct ResponseWriter {
    private var date: [UInt8] = []
    private var dateSeconds: Int64 = .min

    package init() {}

    /// A head that can't be written: the offending field's name.
    package struct InvalidField: Error, Hashable, Sendable {
        package var name: String
    }

    /// Appends status line, the response's fields, and those of framing and connection to `out`.
    ///
    /// - Parameters:
    ///   - now: the wall clock, for `Date`, which is written once a second; a `Date` among the fields is kept instead (RFC 9110 §6.6.1).
    ///   - version: the request's; an HTTP/1.0 client is told when the connection stays.
    package mutating func write(
        status: Int, fields: HTTPFields, framing: ResponseFraming, version: HTTPVersion, now: Timestamp, into out: inout [UInt8]
    ) throws(InvalidField) {
        out += "HTTP/1.1 ".utf8
        out += String(status).utf8
        out.append(Grammar.space)
        out += Status.reason(status).utf8
        out += Self.lineEnd
        var hasDate = false
        for field in fields.lines where !Self.isServers(field.name) {
            try Self.append(field, into: &out)
            if field.name.equalsIgnoringCase("date") { hasDate = true }
        }
        if !hasDate { appendDate(now, into: &out) }
        Self.append(framing.length, into: &out)
        if !framing.keepAlive {
            out += "Connection: close\r\n".utf8
        } else if version == .http10 {
            out += "Connection: keep-alive\r\n".utf8
        }
        out += Self.lineEnd
    }

    private static let lineEnd: [UInt8] = [Grammar.carriageReturn, Grammar.lineFeed]

    /// Whether the field is the server's to write.
    private static func isServers(_ name: String) -> Bool {
        switch name.utf8.count {
        case 7: name.equalsIgnoringCase("upgrade")
        case 10: name.equalsIgnoringCase("connection") || name.equalsIgnoringCase("keep-alive")
        case 14: name.equalsIgnoringCase("content-length")
        case 17: name.equalsIgnoringCase("transfer-encoding")
        default: false
        }
    }

    private static func append(_ field: HTTPFields.Field, into out: inout [UInt8]) throws(InvalidField) {
        guard !field.name.isEmpty, field.name.utf8.allSatisfy(Grammar.isToken) else { throw InvalidField(name: field.name) }
        for byte in field.value.utf8 where byte == Grammar.carriageReturn || byte == Grammar.lineFeed || byte == 0 {
            throw InvalidField(name: field.name)
        }
        out += field.name.utf8
        out.append(Grammar.colon)
        out.append(Grammar.space)
        out += field.value.utf8
        out += lineEnd
    }

    private static func append(_ length: ResponseFraming.Length, into out: inout [UInt8]) {
        switch length {
        case .none, .untilClose: break
        case .known(let count):
            out += "Content-Length: ".utf8
            out += String(count).utf8
            out += lineEnd
        case .chunked:
            out += "Transfer-Encoding: chunked\r\n".utf8
        }
    }

    private mutating func appendDate(_ now: Timestamp, into out: inout [UInt8]) {
        if now.seconds != dateSeconds {
            dateSeconds = now.seconds
            date = Array("Date: \(HTTPDate.format(now))\r\n".utf8)
        }
        out += date
    }
}

/// The lines around the chunks of a body of unknown length (RFC 9112 §7.1).
enum ChunkedCoding {
    /// What goes before a chunk of `count` bytes; `isFirst` has no chunk before it to end.
    static func prefix(_ count: Int, isFirst: Bool) -> [UInt8] {
        Array(((isFirst ? "" : "\r\n") + String(count, radix: 16) + "\r\n").utf8)
    }

    /// What ends the body.
    static func end(isFirst: Bool) -> [UInt8] {
        Array((isFirst ? "0\r\n\r\n" : "\r\n0\r\n\r\n").utf8)
    }
}
