import SpoolCore

/// A request head whose lines are still arriving, and the rules that decide whether it is valid.
struct PartialHead {
    private var method = ""
    private var target = ""
    private var version = HTTPVersion.http11
    private var isAbsolute = false
    private var lines: [RequestHead.FieldLine] = []
    /// The initial capacity for field lines, which is enough for the requests of players.
    private static let usualFieldCount = 8

    private(set) var hasRequestLine = false
    /// The offset of the first field line.
    var fieldsStart = 0

    private var hostCount = 0
    /// The value of `Host`, kept when the target has an authority too.
    private var host = ""
    private var contentLength: Int64?
    private var hasTransferEncoding = false
    private var isChunked = false
    private var wantsClose = false
    private var wantsKeepAlive = false
    private var expectsContinue = false

    // MARK: Request line

    /// `method SP request-target SP HTTP-version` (RFC 9112 §3): nothing around them. As at most
    /// origins, the target may have spaces inside.
    mutating func takeRequestLine(_ line: Range<Int>, of input: UnsafeRawBufferPointer) throws(RequestRefusal) {
        guard let firstSpace = input[line].firstIndex(of: Grammar.space), firstSpace > line.lowerBound,
            let lastSpace = input[line].lastIndex(of: Grammar.space), lastSpace > firstSpace
        else { throw RequestRefusal(400, "the request line is not of the form: method, target, HTTP version") }
        for byte in input[line.lowerBound..<firstSpace] where !Grammar.isToken(byte) {
            throw RequestRefusal(400, "the method holds a character that no method has")
        }
        version = try Self.version(UnsafeRawBufferPointer(rebasing: input[(lastSpace + 1)..<line.upperBound]))
        method = String(decoding: input[line.lowerBound..<firstSpace], as: UTF8.self)
        try takeTarget(UnsafeRawBufferPointer(rebasing: input[(firstSpace + 1)..<lastSpace]))
        hasRequestLine = true
    }

    private static func version(_ bytes: UnsafeRawBufferPointer) throws(RequestRefusal) -> HTTPVersion {
        guard bytes.count == 8, bytes.starts(with: "HTTP/".utf8), Grammar.isDigit(bytes[5]), bytes[6] == UInt8(ascii: "."),
            Grammar.isDigit(bytes[7])
        else { throw RequestRefusal(400, "the request line does not end with an HTTP version") }
        guard bytes[5] == UInt8(ascii: "1") else { throw RequestRefusal(505, "this server speaks HTTP/1.1 and HTTP/1.0") }
        return bytes[7] == UInt8(ascii: "0") ? .http10 : .http11
    }

    private mutating func takeTarget(_ bytes: UnsafeRawBufferPointer) throws(RequestRefusal) {
        var isPlain = true
        for byte in bytes {
            guard Grammar.isTarget(byte) else { throw RequestRefusal(400, "the target holds a control character") }
            if byte >= 0x80 || byte == Grammar.space { isPlain = false }
        }
        guard bytes.first != Grammar.space, bytes.last != Grammar.space else {
            throw RequestRefusal(400, "more than one space stands around the target")
        }
        // Players send the paths of playlists with spaces, and in raw UTF-8 or other encodings. The
        // encoded path names the same resource (RFC 3987 §3.1).
        target = isPlain ? String(decoding: bytes, as: UTF8.self) : bytes.percentEncoded { $0 >= 0x80 || $0 == Grammar.space }
        if bytes.first == UInt8(ascii: "/") { return }
        if bytes.count == 1, bytes[0] == UInt8(ascii: "*"), method == "OPTIONS" { return }
        // The target must be an authority and nothing else (RFC 9112 §3.2.3). No handler opens a
        // tunnel, but a handler can refuse one.
        if method == "CONNECT", bytes.contains(Grammar.colon), bytes.allSatisfy(Grammar.isAuthority) { return }
        guard Self.hasHTTPScheme(bytes) else {
            throw RequestRefusal(400, "the target is neither a path nor an http or https URI")
        }
        isAbsolute = true
        let authority = RequestHead(target: target).authority ?? ""
        guard !authority.isEmpty, authority.utf8.allSatisfy(Grammar.isAuthority) else {
            throw RequestRefusal(400, "the target has no valid host")
        }
    }

    private static func hasHTTPScheme(_ bytes: UnsafeRawBufferPointer) -> Bool {
        for scheme in ["http://", "https://"] as [StaticString] {
            let count = scheme.utf8CodeUnitCount
            if bytes.count > count, Grammar.matches(UnsafeRawBufferPointer(rebasing: bytes[..<count]), scheme) { return true }
        }
        return false
    }

    // MARK: Field lines

    /// `field-name ":" OWS field-value OWS` (RFC 9112 §5).
    mutating func takeField(
        _ line: Range<Int>, of input: UnsafeRawBufferPointer, _ limits: RequestLimits
    ) throws(RequestRefusal) {
        guard lines.count < limits.fieldCount else {
            throw RequestRefusal(431, "there are more than \(limits.fieldCount) header fields")
        }
        // RFC 9112 §5.2: folded lines are refused or rewritten. A reader that does neither sees
        // other fields.
        if input[line.lowerBound] == Grammar.space || input[line.lowerBound] == Grammar.tab {
            throw RequestRefusal(400, "a header field is folded over several lines")
        }
        var colon = line.lowerBound
        while colon < line.upperBound, Grammar.isToken(input[colon]) { colon += 1 }
        // RFC 9112 §5.1: white space before the colon is refused, because some readers would drop
        // it and others keep it.
        guard colon < line.upperBound, input[colon] == Grammar.colon, colon > line.lowerBound else {
            throw RequestRefusal(400, "a header field has no valid name")
        }
        let value = try Self.value((colon + 1)..<line.upperBound, of: input)
        if lines.isEmpty { lines.reserveCapacity(Self.usualFieldCount) }
        lines.append(
            RequestHead.FieldLine(
                nameStart: UInt32(line.lowerBound), nameEnd: UInt32(colon), valueStart: UInt32(value.lowerBound),
                valueEnd: UInt32(value.upperBound)))
        try note(
            name: UnsafeRawBufferPointer(rebasing: input[line.lowerBound..<colon]),
            value: UnsafeRawBufferPointer(rebasing: input[value]))
    }

    /// Returns the range of the value without white space around it.
    private static func value(_ range: Range<Int>, of input: UnsafeRawBufferPointer) throws(RequestRefusal) -> Range<Int> {
        var (lower, upper) = (range.lowerBound, range.upperBound)
        while lower < upper, isBlank(input[lower]) { lower += 1 }
        while upper > lower, isBlank(input[upper - 1]) { upper -= 1 }
        var position = lower
        while position < upper {
            guard Grammar.isFieldContent(input[position]) else {
                throw RequestRefusal(400, "a header field holds a control character")
            }
            position += 1
        }
        return lower..<upper
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == Grammar.space || byte == Grammar.tab
    }

    /// Records the fields that determine framing and connection.
    private mutating func note(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) throws(RequestRefusal) {
        switch name.count {
        case 4 where Grammar.matches(name, "host"): try noteHost(value)
        // A server ignores it in a request of HTTP/1.0 (RFC 9110 §10.1.1).
        case 6 where Grammar.matches(name, "expect"): expectsContinue = version == .http11 && Grammar.matches(value, "100-continue")
        case 10 where Grammar.matches(name, "connection"): noteConnection(value)
        case 14 where Grammar.matches(name, "content-length"): try noteContentLength(value)
        case 17 where Grammar.matches(name, "transfer-encoding"):
            // A second line would extend the list of codings.
            isChunked = !hasTransferEncoding && Grammar.matches(value, "chunked")
            hasTransferEncoding = true
        default: break
        }
    }

    private mutating func noteHost(_ value: UnsafeRawBufferPointer) throws(RequestRefusal) {
        hostCount += 1
        guard hostCount == 1 else { throw RequestRefusal(400, "there is more than one Host field") }
        guard value.allSatisfy(Grammar.isAuthority) else { throw RequestRefusal(400, "the Host field is not a host") }
        if isAbsolute { host = String(decoding: value, as: UTF8.self) }
    }

    /// Checks that `Host` equals the target's authority, as RFC 9112 §3.2.2 requires. Where the two
    /// differ, two readers could take the request for two different sites.
    private func checkAuthority() throws(RequestRefusal) {
        guard isAbsolute, hostCount > 0, let authority = RequestHead(target: target).authority else { return }
        let isSecure = target.utf8.count > 5 && Grammar.lowercased(Array(target.utf8.prefix(5))[4]) == UInt8(ascii: "s")
        func normal(_ text: String) -> String {
            let lower = text.asciiLowercased, port = isSecure ? ":443" : ":80"
            return lower.hasSuffix(port) ? String(lower.dropLast(port.count)) : lower
        }
        guard normal(authority) == normal(host) else { throw RequestRefusal(400, "the target and the Host field name two hosts") }
    }

    private mutating func noteConnection(_ value: UnsafeRawBufferPointer) {
        for option in value.split(separator: UInt8(ascii: ",")) {
            let trimmed = UnsafeRawBufferPointer(rebasing: Self.trimmed(option))
            if Grammar.matches(trimmed, "close") { wantsClose = true }
            if Grammar.matches(trimmed, "keep-alive") { wantsKeepAlive = true }
        }
    }

    private static func trimmed(_ slice: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var slice = slice.drop(while: isBlank)
        while let last = slice.last, isBlank(last) { slice.removeLast() }
        return slice
    }

    /// Records the length. RFC 9110 §8.6 allows merging equal lengths, but clients send several
    /// only to confuse a server.
    private mutating func noteContentLength(_ value: UnsafeRawBufferPointer) throws(RequestRefusal) {
        guard contentLength == nil else { throw RequestRefusal(400, "there is more than one Content-Length field") }
        guard !value.isEmpty, value.count <= 18, value.allSatisfy(Grammar.isDigit) else {
            throw RequestRefusal(400, "the Content-Length is not a number")
        }
        contentLength = value.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    // MARK: The complete head

    /// Returns the length of the body that follows and is to be skipped. Refuses a body that is too
    /// long, or whose length is ambiguous (RFC 9112 §6.3).
    func bodyBytes(_ limits: RequestLimits) throws(RequestRefusal) -> Int {
        if hostCount == 0, version == .http11 { throw RequestRefusal(400, "an HTTP/1.1 request needs a Host field") }
        try checkAuthority()
        if hasTransferEncoding {
            guard contentLength == nil, version == .http11 else {
                throw RequestRefusal(400, "the request states the length of the body in two ways: Transfer-Encoding does not go with that")
            }
            guard isChunked else { throw RequestRefusal(400, "the Transfer-Encoding is not chunked") }
            throw RequestRefusal(411, "a request body needs a Content-Length here")
        }
        guard let contentLength, contentLength > 0 else { return 0 }
        let longest = max(Int64(limits.skippedBodyBytes), limits.takenBodyBytes)
        guard contentLength <= longest else {
            throw RequestRefusal(413, "the request body is longer than \(longest) bytes")
        }
        // RFC 9110 §10.1.1: a final status instead of 100 makes the client keep its body.
        return expectsContinue ? 0 : Int(contentLength)
    }

    func complete(_ bytes: Slice<UnsafeRawBufferPointer>) -> RequestHead {
        // A client that got no 100 may still send its body, and the server cannot detect that. So
        // no request can follow on the connection.
        let keepsBody = expectsContinue && (contentLength ?? 0) > 0
        // A client that asked for a tunnel may send bytes that belong into it.
        let keepAlive = !wantsClose && !keepsBody && method != "CONNECT" && (version == .http11 || wantsKeepAlive)
        return RequestHead(
            method: method, target: target, version: version, keepAlive: keepAlive, bytes: [UInt8](bytes), lines: lines,
            contentLength: contentLength ?? 0, expectsContinue: expectsContinue)
    }
}
