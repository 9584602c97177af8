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
    ///   - prepared: lines that were made before; they come first.
    ///   - now: the wall clock, for `Date`, which is written once a second; a `Date` among the fields is kept instead (RFC 9110 §6.6.1).
    ///   - version: the request's; an HTTP/1.0 client is told when the connection stays.
    package mutating func write(
        status: Int, prepared: FieldLines? = nil, fields: HTTPFields, framing: ResponseFraming, version: HTTPVersion, now: Timestamp,
        into out: inout [UInt8]
    ) throws(FieldLines.InvalidField) {
        out += "HTTP/1.1 ".utf8
        FieldLines.append(Int64(status), to: &out)
        out.append(Grammar.space)
        out += Status.reason(status).utf8
        out += FieldLines.lineEnd
        var hasDate = false
        if let prepared {
            out += prepared.bytes
            hasDate = prepared.hasDate
        }
        if !fields.lines.isEmpty {
            let lines = try FieldLines(fields)
            out += lines.bytes
            hasDate = hasDate || lines.hasDate
        }
        if !hasDate { appendDate(now, into: &out) }
        Self.append(framing.length, into: &out)
        if !framing.keepAlive {
            out += "Connection: close\r\n".utf8
        } else if version == .http10 {
            out += "Connection: keep-alive\r\n".utf8
        }
        out += FieldLines.lineEnd
    }

    private static func append(_ length: ResponseFraming.Length, into out: inout [UInt8]) {
        switch length {
        case .none, .untilClose: break
        case .known(let count):
            out += "Content-Length: ".utf8
            FieldLines.append(count, to: &out)
            out += FieldLines.lineEnd
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
