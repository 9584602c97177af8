import SpoolLibc

/// A strict, incremental parser of request heads (RFC 9112). It refuses each input that two readers
/// could understand differently.
///
/// The parser examines each line once, when it is complete, and each byte a fixed number of times,
/// however the bytes are divided. The result does not depend on the division.
package struct RequestParser {
    /// The result of parsing the bytes so far.
    package enum Progress {
        /// The head is not complete.
        case needsMore
        /// A head that takes `consumed` bytes. A body of `bodyBytes` follows, which is to be
        /// skipped.
        case head(RequestHead, consumed: Int, bodyBytes: Int)
        /// The bytes are not a request that a handler can answer. The parser must not be used
        /// again.
        case refused(RequestRefusal)
    }

    private let limits: RequestLimits
    /// The end of the bytes that were searched for a line end.
    private var scanned = 0
    private var lineStart = 0
    private var emptyLines = 0
    private var head = PartialHead()

    /// Creates a parser. The request line and the fields may take at most 1 MiB each.
    package init(limits: RequestLimits = RequestLimits()) {
        precondition(
            max(limits.requestLineBytes, limits.fieldBytes) <= RequestLimits.longestPart,
            "a request line and its fields take at most 1 MiB each: lower requestLineBytes or fieldBytes")
        self.limits = limits
    }

    /// Whether a part of a head has arrived.
    package var isInsideHead: Bool { scanned > 0 }

    /// Parses `input`, which begins with the first byte of a head and contains all bytes received
    /// since.
    package mutating func parse(_ input: UnsafeRawBufferPointer) -> Progress {
        do throws(RequestRefusal) {
            try checkFirstByte(input)
            while let end = lineEnd(input) {
                try checkLength(end)
                guard end > lineStart, input[end - 1] == Grammar.carriageReturn else {
                    throw RequestRefusal(400, "a line ends without a carriage return")
                }
                let line = lineStart..<(end - 1)
                lineStart = end + 1
                scanned = lineStart
                if let progress = try take(line, of: input) { return progress }
                try checkFirstByte(input)
            }
            scanned = input.count
            try checkLength(input.count)
            return .needsMore
        } catch {
            return .refused(error)
        }
    }

    /// Processes one line without its end.
    ///
    /// - Returns: The result when the line was the head's last, else nil.
    private mutating func take(_ line: Range<Int>, of input: UnsafeRawBufferPointer) throws(RequestRefusal) -> Progress? {
        if !line.isEmpty {
            try head.hasRequestLine
                ? head.takeField(line, of: input, limits)
                : head.takeRequestLine(line, of: input)
            if head.fieldsStart == 0 { head.fieldsStart = lineStart }
            return nil
        }
        guard head.hasRequestLine else {
            emptyLines += 1
            if emptyLines > limits.leadingEmptyLines { throw RequestRefusal(400, "empty lines where a request should begin") }
            return nil
        }
        let bodyBytes = try head.bodyBytes(limits)
        let consumed = lineStart
        let complete = head.complete(input[..<consumed])
        self = RequestParser(limits: limits)
        return .head(complete, consumed: consumed, bodyBytes: bodyBytes)
    }

    private func lineEnd(_ input: UnsafeRawBufferPointer) -> Int? {
        guard scanned < input.count, let base = input.baseAddress else { return nil }
        guard let found = memchr(base + scanned, Int32(Grammar.lineFeed), input.count - scanned) else { return nil }
        return UnsafeRawPointer(found) - base
    }

    /// Refuses a client that does not send HTTP at its first byte, so that it does not have to wait
    /// for a time-out.
    private func checkFirstByte(_ input: UnsafeRawBufferPointer) throws(RequestRefusal) {
        guard !head.hasRequestLine, lineStart < input.count else { return }
        let first = input[lineStart]
        if Grammar.isToken(first) || first == Grammar.carriageReturn || first == Grammar.lineFeed { return }
        if first == 0x16 { throw RequestRefusal(400, "this port speaks plain HTTP, not TLS: use http:// in the URL") }
        throw RequestRefusal(400, "this does not begin like an HTTP request")
    }

    /// Checks the limits for a line that ends at `end`, or has reached `end` so far.
    private func checkLength(_ end: Int) throws(RequestRefusal) {
        if head.hasRequestLine {
            guard end - head.fieldsStart <= limits.fieldBytes else {
                throw RequestRefusal(431, "the header fields are longer than \(limits.fieldBytes) bytes")
            }
        } else if end - lineStart > limits.requestLineBytes + 1 {
            throw RequestRefusal(414, "the request line is longer than \(limits.requestLineBytes) bytes")
        }
    }
}
