package import SpoolCore

/// Writes response heads (RFC 9112 §4).
///
/// A name or value that would end its line is refused, so no field of an origin's can become a response of its own.
package struct ResponseWriter {
    private var date: [UInt8] = []
    private var dateSeconds: Int64 = .min

    package init() {}

    /// Appends status line, the response's fields, and those of framing and connection to `out`.
    ///
    /// - Parameters:
    ///   - prepared: fields that were made before; they come first.
    ///   - now: the wall clock, for `Date`, which is written once a second; a `Date` among the fields is kept instead (RFC 9110 §6.6.1).
    ///   - version: the request's; an HTTP/1.0 client is told when the connection stays.
    package mutating func write(
        status: Int, prepared: PreparedFields? = nil, fields: HTTPFields, framing: ResponseFraming, version: HTTPVersion, now: Timestamp,
        into out: inout HeadBuffer
    ) throws(FieldLines.InvalidField) {
        Self.appendStatusLine(status, into: &out)
        prepared?.write(into: &out)
        var hasDate = prepared?.lines.hasDate ?? false
        if !fields.lines.isEmpty {
            let lines = try FieldLines(fields)
            out.append(lines.bytes)
            hasDate = hasDate || lines.hasDate
        }
        if !hasDate { appendDate(now, into: &out) }
        Self.append(framing.length, into: &out)
        if !framing.keepAlive {
            out.append("Connection: close\r\n")
        } else if version == .http10 {
            out.append("Connection: keep-alive\r\n")
        }
        out.append("\r\n")
    }

    private static func appendStatusLine(_ status: Int, into out: inout HeadBuffer) {
        // What nearly every answer begins with is one piece.
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
    /// What goes before a chunk of `count` bytes; `isFirst` has no chunk before it to end.
    static func prefix(_ count: Int, isFirst: Bool) -> [UInt8] {
        Array(((isFirst ? "" : "\r\n") + String(count, radix: 16) + "\r\n").utf8)
    }

    /// What ends the body.
    static func end(isFirst: Bool) -> [UInt8] {
        Array((isFirst ? "0\r\n\r\n" : "\r\n0\r\n\r\n").utf8)
    }
}
