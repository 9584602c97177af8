package import SpoolCore

/// Writes response heads (RFC 9112 §4).
///
/// It refuses a name or value that would end its line, so no field of an origin can become a
/// response of its own.
package struct ResponseWriter {
    private var date: [UInt8] = []
    private var dateSeconds: Int64 = .min

    /// Creates a writer.
    package init() {}

    /// Appends the status line, the response's fields, and those of framing and connection to
    /// `out`.
    ///
    /// - Parameters:
    ///   - prepared: Fields that were made before. They come first.
    ///   - now: The wall clock for `Date`, which is formatted once a second. A `Date` among the
    ///     fields replaces it (RFC 9110 §6.6.1), and the clock is not read then.
    ///   - version: The request's version. An HTTP/1.0 client gets an explicit `Connection:
    ///     keep-alive`.
    ///
    /// - Throws: `FieldLines.InvalidField` for a name or value that cannot be sent.
    package mutating func write(
        status: Int, prepared: PreparedFields? = nil, fields: HTTPFields, framing: ResponseFraming, version: HTTPVersion,
        now: @autoclosure () -> Timestamp, into out: inout HeadBuffer
    ) throws(FieldLines.InvalidField) {
        Self.appendStatusLine(status, into: &out)
        prepared?.write(into: &out)
        var hasDate = prepared?.lines.hasDate == true
        if !fields.lines.isEmpty {
            let lines = try FieldLines(fields)
            out.append(lines.bytes)
            hasDate = hasDate || lines.hasDate
        }
        if !hasDate { appendDate(now(), into: &out) }
        Self.append(framing.length, into: &out)
        if !framing.keepAlive {
            out.append("Connection: close\r\n")
        } else if version == .http10 {
            out.append("Connection: keep-alive\r\n")
        }
        out.append("\r\n")
    }

    /// Appends the head of an interim response to `out`.
    ///
    /// - Throws: `FieldLines.InvalidField` for a name or value that cannot be sent.
    package mutating func writeInterim(
        status: Int, fields: HTTPFields, into out: inout HeadBuffer
    ) throws(FieldLines.InvalidField) {
        let lines = try FieldLines(fields)
        Self.appendStatusLine(status, into: &out)
        out.append(lines.bytes)
        out.append("\r\n")
    }

    private static func appendStatusLine(_ status: Int, into out: inout HeadBuffer) {
        // The status line of nearly every response is appended in one piece.
        if status == 206 { return out.append("HTTP/1.1 206 Partial Content\r\n") }
        out.append("HTTP/1.1 ")
        out.append(decimal: Int64(status))
        out.append(" ")
        out.append(Status.reason(status))
        out.append("\r\n")
    }

    private static func append(_ length: ResponseFraming.Length, into out: inout HeadBuffer) {
        switch length {
        case .none, .untilClose: break
        case .known(let count):
            out.append("Content-Length: ")
            out.append(decimal: count)
            out.append("\r\n")
        case .chunked:
            out.append("Transfer-Encoding: chunked\r\n")
        }
    }

    private mutating func appendDate(_ now: Timestamp, into out: inout HeadBuffer) {
        if now.seconds != dateSeconds {
            dateSeconds = now.seconds
            date = Array("Date: \(HTTPDate.format(now))\r\n".utf8)
        }
        out.append(date)
    }
}

/// The lines around the chunks of a body of unknown length (RFC 9112 §7.1).
enum ChunkedCoding {
    /// Returns the line before a chunk of `count` bytes. For the first chunk there is no earlier
    /// chunk to end.
    static func prefix(_ count: Int, isFirst: Bool) -> [UInt8] {
        Array(((isFirst ? "" : "\r\n") + String(count, radix: 16) + "\r\n").utf8)
    }

    /// Returns the bytes that end the body.
    static func end(isFirst: Bool) -> [UInt8] {
        Array((isFirst ? "0\r\n\r\n" : "\r\n0\r\n\r\n").utf8)
    }
}
