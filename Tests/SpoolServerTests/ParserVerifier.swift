import SpoolCore
import SpoolServer
import Testing

/// The result of parsing a stream of bytes: requests in order, then perhaps a refusal.
struct Parsed: Equatable, CustomStringConvertible {
    var requests: [String] = []
    var refusal: RequestRefusal?
    /// Whether bytes are left that form no whole request.
    var isIncomplete = false

    var description: String { "\(requests) \(refusal.map { "\($0.status) \($0.explanation)" } ?? "") \(isIncomplete ? "…" : "")" }
}

/// Feeds a parser as a connection does, `step` bytes at a time.
func parse(_ bytes: [UInt8], step: Int, limits: RequestLimits = RequestLimits()) -> Parsed {
    var parser = RequestParser(limits: limits)
    var parsed = Parsed()
    var buffer: [UInt8] = []
    var toSkip = 0
    var position = 0
    while position < bytes.count, parsed.refusal == nil {
        let next = min(position + step, bytes.count)
        buffer += bytes[position..<next]
        position = next
        while parsed.refusal == nil {
            let skipped = min(toSkip, buffer.count)
            buffer.removeFirst(skipped)
            toSkip -= skipped
            guard toSkip == 0, !buffer.isEmpty else { break }
            let progress = buffer.withUnsafeBytes { parser.parse($0) }
            guard case .needsMore = progress else {
                take(progress, &buffer, &toSkip, &parsed)
                continue
            }
            break
        }
    }
    parsed.isIncomplete = parsed.refusal == nil && (!buffer.isEmpty || toSkip > 0)
    return parsed
}

private func take(_ progress: RequestParser.Progress, _ buffer: inout [UInt8], _ toSkip: inout Int, _ parsed: inout Parsed) {
    switch progress {
    case .needsMore: break
    case .head(let head, let consumed, let body):
        buffer.removeFirst(consumed)
        toSkip = body
        parsed.requests.append(summary(head))
    case .refused(let refusal): parsed.refusal = refusal
    }
}

func summary(_ head: RequestHead) -> String {
    let fields = head.fields.lines.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
    return "\(head.method) \(head.target) \(head.version) \(head.keepAlive ? "keep" : "close") \(fields)"
}

/// Checks that cuts do not change the result: whole, byte by byte, in odd steps, and together with
/// the next request.
func verify(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> Parsed {
    let bytes = Array(text.utf8)
    let whole = parse(bytes, step: max(1, bytes.count))
    for step in [1, 2, 3, 7, 64] {
        #expect(parse(bytes, step: step) == whole, "in steps of \(step)", sourceLocation: sourceLocation)
    }
    if whole.refusal == nil, !whole.isIncomplete {
        let next = "GET /next HTTP/1.1\r\nHost: next\r\n\r\n"
        var glued = whole
        glued.requests.append("GET /next http11 keep Host=next")
        for step in [1, 5, bytes.count + next.utf8.count] {
            #expect(parse(bytes + Array(next.utf8), step: step) == glued, "glued, in steps of \(step)", sourceLocation: sourceLocation)
        }
    }
    return whole
}
