/// The limits for a run, one on each line:
///
///     row measure peer <= 1.25      our median divided by the peer's
///     row measure -    <= 32        our median itself
///
/// `>=` is for values that should be large. Empty lines and lines that begin with `#` are skipped.
struct Thresholds {
    private struct Line {
        let row: String, measure: String, peer: String?
        let isMaximum: Bool
        let limit: Double
    }

    private let lines: [Line]

    init(_ text: String) throws {
        lines = try text.split(separator: "\n").enumerated().compactMap { try Self.line($1, number: $0 + 1) }
    }

    private static func line(_ text: Substring, number: Int) throws -> Line? {
        let words = text.split(separator: " ").map(String.init)
        guard let first = words.first, !first.hasPrefix("#") else { return nil }
        guard words.count == 5, ["<=", ">="].contains(words[3]), let limit = Double(words[4]) else {
            throw BenchmarkError("thresholds, line \(number): expected row, measure, peer or -, <= or >=, number: \(text)")
        }
        return Line(row: words[0], measure: words[1], peer: words[2] == "-" ? nil : words[2], isMaximum: words[3] == "<=", limit: limit)
    }

    /// Returns a sentence for each violated limit. A limit of a row that did not run, was left out or
    /// failed, or for a peer that was left out, is skipped. A row that ran without its measure is a
    /// violation.
    func violations(of results: [RowResult], without leftOut: Set<String>) -> [String] {
        lines.compactMap { line in
            guard let result = results.first(where: { $0.name == line.row }), !result.measures.isEmpty else { return nil }
            if let peer = line.peer, leftOut.contains(peer) { return nil }
            return violation(of: line, in: result)
        }
    }

    private func violation(of line: Line, in result: RowResult) -> String? {
        let what = "\(line.row) \(line.measure)" + (line.peer.map { " ÷ \($0)" } ?? "")
        let measure = result[line.measure]
        let value = line.peer.map { measure?.ratio(ours: result.ours, to: $0) } ?? measure?.samples[result.ours]?.median
        guard let value, value.isFinite else { return "\(what): not measured" }
        let holds = line.isMaximum ? value <= line.limit : value >= line.limit
        return holds ? nil : "\(what): \(value.fixed(3)), the limit is \(line.isMaximum ? "<=" : ">=") \(line.limit)"
    }
}
