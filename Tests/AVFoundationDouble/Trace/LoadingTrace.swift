/// A player's requests to one asset's loader and their outcomes, parsed from the notation of
/// docs/traces.
package struct LoadingTrace: Sendable {
    /// The event of one line.
    package enum Event: Hashable, Sendable {
        case asked(information: Bool, isRenewal: Bool, LoadingAsk.Data?)
        /// Cancelled after `bytes` bytes.
        case cancelled(bytes: Int64)
        case finished(bytes: Int64)
        case failed(bytes: Int64, domain: String, code: Int)
    }

    /// One line of a trace.
    package struct Entry: Hashable, Sendable {
        /// The time since the start of the trace.
        package let milliseconds: Int64
        /// The number of the request.
        package let request: Int
        /// The event of the line.
        package let event: Event
    }

    /// The error of a malformed trace.
    package struct NotATrace: Error, CustomStringConvertible {
        /// The number of the malformed line, from 1.
        package let line: Int
        /// The expected text.
        package let expected: String

        /// The line, and the expected text.
        package var description: String { "line \(line): expected \(expected)" }
    }

    /// The largest number of lines. Longer texts are refused.
    package static let maxLines = 100_000

    /// The values of the comments at the head, by key.
    package private(set) var header: [String: String] = [:]
    /// The lines, in order.
    package private(set) var entries: [Entry] = []

    /// The length of the resource, if the header states it.
    package var length: Int64? { header["length"].flatMap { Int64($0) } }

    /// Parses a trace.
    package init(_ text: String) throws(NotATrace) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count <= Self.maxLines else { throw NotATrace(line: Self.maxLines, expected: "the end") }
        guard lines.first == "# spool trace 1" else { throw NotATrace(line: 1, expected: "# spool trace 1") }
        for (index, line) in lines.enumerated().dropFirst() {
            if line.hasPrefix("#") { readComment(line) } else if !line.isEmpty { entries.append(try Self.entry(line, index + 1)) }
        }
    }

    private mutating func readComment(_ line: Substring) {
        let parts = line.dropFirst().split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { return }
        header[Self.trimmed(parts[0])] = Self.trimmed(parts[1])
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    // MARK: Lines

    private static func entry(_ line: Substring, _ number: Int) throws(NotATrace) -> Entry {
        let words = line.split(separator: " ")
        guard words.count >= 3 else { throw NotATrace(line: number, expected: "seconds, a request's number and what happened") }
        guard let seconds = Double(words[0]), seconds >= 0, seconds < 1e9 else { throw NotATrace(line: number, expected: "seconds") }
        guard let request = Int(words[1]) else { throw NotATrace(line: number, expected: "a request's number") }
        guard let event = event(words[2...]) else { throw NotATrace(line: number, expected: "an ask, or →bytes and ✗, ✓ or !") }
        return Entry(milliseconds: Int64(seconds * 1000), request: request, event: event)
    }

    private static func event(_ words: ArraySlice<Substring>) -> Event? {
        guard let first = words.first, first.hasPrefix("→") else { return asked(words) }
        guard let bytes = Int64(first.dropFirst()), bytes >= 0 else { return nil }
        switch (words.dropFirst().first, words.count) {
        case ("✗", 2): return .cancelled(bytes: bytes)
        case ("✓", 2): return .finished(bytes: bytes)
        case ("!", 4): return Int(words.last!).map { .failed(bytes: bytes, domain: String(words.dropFirst(2).first!), code: $0) }
        default: return nil
        }
    }

    private static func asked(_ words: ArraySlice<Substring>) -> Event? {
        var rest = words
        let isRenewal = rest.first == "R+"
        let information = isRenewal || rest.first == "I+"
        if information { rest.removeFirst() }
        guard let range = rest.popFirst() else { return .asked(information: information, isRenewal: isRenewal, nil) }
        let toEnd = rest.first == "E"
        guard rest.count == (toEnd ? 1 : 0), let data = data(range, toEnd) else { return nil }
        return .asked(information: information, isRenewal: isRenewal, data)
    }

    /// Parses `@offset+length`.
    private static func data(_ word: Substring, _ toEnd: Bool) -> LoadingAsk.Data? {
        guard word.hasPrefix("@") else { return nil }
        let parts = word.dropFirst().split(separator: "+")
        guard parts.count == 2, let offset = Int64(parts[0]), offset >= 0 else { return nil }
        guard let length = parts[1] == "max" ? Int.max : Int(parts[1]), length >= 0 else { return nil }
        return LoadingAsk.Data(offset: offset, length: length, toEnd: toEnd)
    }
}
