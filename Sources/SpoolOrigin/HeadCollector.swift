package import SpoolCore

/// Assembles the head of a response from its header lines.
///
/// It is a pure value without I/O. It unfolds obsolete line folding (RFC 9112
/// §5.2), drops lines that are no fields, and refuses heads that are too large or contradict
/// themselves. No input makes it trap.
package struct HeadCollector: Sendable {
    /// The most bytes of the heads of one response, 1xx included. Media origins send a few hundred;
    /// the bound keeps a hostile origin from filling memory.
    package static let maxHeadBytes = 256 * 1024
    /// The most 1xx responses before the final one (RFC 9110 §15.2 sets no limit).
    package static let maxInformational = 32

    /// The result of one line.
    package enum Step: Hashable, Sendable {
        /// More lines belong to the head.
        case more
        /// The head of an interim response is complete (RFC 9110 §15.2). The final one follows.
        case interim(ResponseHead)
        /// The head of the final response is complete.
        case head(ResponseHead)
        /// The line comes after the head: a trailer field, which is not used.
        case trailer
        /// The head can't be used, for this reason.
        case refused(String)
    }

    private enum State {
        case statusLine
        case fields(status: Int, isHTTP1: Bool)
        case done
    }

    private var state = State.statusLine
    private var fields = HTTPFields()
    /// Whether a folded line continues the last field. False after a line that was dropped.
    private var canFold = false
    private var bytes = 0
    private var informational = 0

    /// Creates a collector that waits for a status line.
    package init() {}

    /// Whether the final head is complete.
    package var isDone: Bool { if case .done = state { true } else { false } }

    /// Whether an interim head is complete, and the final one has not begun.
    package var isBetweenHeads: Bool { if case .statusLine = state { informational > 0 } else { false } }

    /// Takes the next line, with or without its line break. An empty line ends a head.
    package mutating func lineReceived(_ line: UnsafeRawBufferPointer) -> Step {
        if isDone { return .trailer }
        bytes += line.count
        guard bytes <= Self.maxHeadBytes else { return .refused("the response head has more than \(Self.maxHeadBytes) bytes") }
        let line = line.trimmingLineBreak()
        switch state {
        case .statusLine: return statusLineReceived(line)
        case .fields(let status, let isHTTP1) where line.isEmpty: return headEnded(status, isHTTP1: isHTTP1)
        case .fields:
            fieldLineReceived(line)
            return .more
        case .done: return .trailer
        }
    }

    // MARK: Status line

    private mutating func statusLineReceived(_ line: UnsafeRawBufferPointer) -> Step {
        guard let status = Self.status(of: line) else { return .refused("the status line is not HTTP's") }
        guard status != 101 else { return .refused("the origin switched to another protocol unasked") }
        fields = HTTPFields()
        canFold = false
        state = .fields(status: status, isHTTP1: Self.begins(line, "HTTP/1"))
        return .more
    }

    private static func begins(_ line: UnsafeRawBufferPointer, _ text: String) -> Bool {
        String(decoding: line.prefix(text.utf8.count), as: UTF8.self).equalsIgnoringCase(text)
    }

    /// Returns the status of a line such as `HTTP/1.1 206 Partial Content` (RFC 9112 §4). The
    /// reason may be missing, or follow without a space. Radio servers say `ICY 200 OK`, and some
    /// small servers write the protocol in lower case.
    private static func status(of line: UnsafeRawBufferPointer) -> Int? {
        guard begins(line, "HTTP/") || begins(line, "ICY "), let space = line.firstIndex(of: 0x20) else { return nil }
        let rest = line[(space + 1)...].drop { $0 == 0x20 }
        let digits = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }
        guard digits.count == 3 else { return nil }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return status >= 100 ? status : nil
    }

    // MARK: Fields

    private mutating func fieldLineReceived(_ line: UnsafeRawBufferPointer) {
        if line[0] == 0x20 || line[0] == 0x09 { return foldedLineReceived(line) }
        canFold = false
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        // RFC 9112 §5.1: white space before the colon is removed from a response.
        let name = UnsafeRawBufferPointer(rebasing: line[..<colon]).trimmingBlanks()
        guard !name.isEmpty, name.allSatisfy(\.isTokenByte) else { return }
        let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]).trimmingBlanks()
        let fieldName = HTTPFields.Name(name.headerText)
        // The bytes of a URL stay as they are, whatever their encoding.
        let isURL = fieldName == .location && value.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        fields.append(fieldName, isURL ? value.percentEncoded { $0 > 0x7F } : value.headerText)
        canFold = true
    }

    private mutating func foldedLineReceived(_ line: UnsafeRawBufferPointer) {
        guard canFold, let last = fields.lines.indices.last else { return }
        let more = line.trimmingBlanks().headerText
        guard !more.isEmpty else { return }
        fields.lines[last].value += fields.lines[last].value.isEmpty ? more : " " + more
    }

    // MARK: The end

    private mutating func headEnded(_ status: Int, isHTTP1: Bool) -> Step {
        guard status >= 200 else {
            informational += 1
            state = .statusLine
            guard informational <= Self.maxInformational else { return .refused("more than \(Self.maxInformational) 1xx responses") }
            // A 100 is for the sender of the body.
            return status == 100 ? .more : .interim(ResponseHead(status: status, fields: fields))
        }
        state = .done
        // `identity` is no coding (RFC 2616 §3.6), and `Content-Length` counts beside it.
        if fields[.transferEncoding]?.equalsIgnoringCase("identity") == true { fields[.transferEncoding] = nil }
        // No request asks for a transfer coding (`TE`), and its bytes are not those of the content.
        if fields.isCompressedOnTheWay { return .refused("it is compressed by Transfer-Encoding, which was not asked for") }
        if let contradiction = Self.lengthDefect(of: fields) { return .refused(contradiction) }
        var head = ResponseHead(status: status, fields: fields)
        head.endsByClose = isHTTP1 && !fields.contains(.contentLength) && !fields.contains(.transferEncoding)
        return .head(head)
    }

    /// Returns the reason why `Content-Length` of a response can't be used, or nil if it can or
    /// does not count (RFC 9112 §6.3).
    ///
    /// Equal lengths may be repeated. A transfer coding overrides them.
    package static func lengthDefect(of fields: HTTPFields) -> String? {
        guard fields[.transferEncoding] == nil else { return nil }
        do {
            _ = try ContentLength.parse(fields)
            return nil
        } catch {
            return "Content-Length can't be used: \(error)"
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the line without the CR LF, or bare LF, at its end.
    fileprivate func trimmingLineBreak() -> UnsafeRawBufferPointer {
        var end = count
        if end > 0, self[end - 1] == 0x0A { end -= 1 }
        if end > 0, self[end - 1] == 0x0D { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[..<end])
    }

    /// Returns the bytes without the spaces and tabs around them.
    fileprivate func trimmingBlanks() -> UnsafeRawBufferPointer {
        var lower = 0, upper = count
        while lower < upper, self[lower] == 0x20 || self[lower] == 0x09 { lower += 1 }
        while lower < upper, self[upper - 1] == 0x20 || self[upper - 1] == 0x09 { upper -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[lower..<upper])
    }

    /// The bytes as text.
    ///
    /// A control character becomes a space (RFC 9110 §5.5). It could otherwise end a line in
    /// another format, or control a terminal that shows it.
    fileprivate var headerText: String {
        func isControl(_ byte: UInt8) -> Bool { (byte < 0x20 && byte != 0x09) || byte == 0x7F }
        return contains(where: isControl) ? String(fieldBytes: map { isControl($0) ? 0x20 : $0 }) : String(fieldBytes: self)
    }
}
