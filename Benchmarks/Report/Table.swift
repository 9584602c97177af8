/// Formats results as a table that is also Markdown.
struct Table {
    private static let titles = ["row", "measure", "program", "median", "min", "max", "ours ÷ it", "bound"]

    static func text(of results: [RowResult]) -> String {
        let lines = [titles] + results.flatMap(lines)
        let widths = titles.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        var drawn = lines.map { line(of: $0, widths) }
        drawn.insert("|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|", at: 1)
        return drawn.joined(separator: "\n")
    }

    private static func lines(of result: RowResult) -> [[String]] {
        var lines = result.measures.flatMap { measure in measure.programs.map { line(result, measure, $0) } }
        if let failure = result.failure {
            lines.append([result.name, "failed: " + failure, "", "", "", "", "", ""])
        }
        return lines
    }

    private static func line(_ result: RowResult, _ measure: Measure, _ program: String) -> [String] {
        let sample = measure.samples[program] ?? Sample()
        let ratio = program == result.ours ? nil : measure.ratio(ours: result.ours, to: program)
        let bound = program == result.ours ? measure.bound : nil
        return [
            result.name, "\(measure.name), \(measure.unit)", program, sample.median.tabular, sample.minimum.tabular, sample.maximum.tabular,
            ratio.map { $0.fixed(2) } ?? "", bound.map { "≤ " + $0.tabular } ?? "",
        ]
    }

    /// Returns a line with words to the left and numbers to the right.
    private static func line(of cells: [String], _ widths: [Int]) -> String {
        let padded = cells.indices.map { column in
            let padding = String(repeating: " ", count: max(0, widths[column] - cells[column].count))
            return column < 3 ? cells[column] + padding : padding + cells[column]
        }
        return "| " + padded.joined(separator: " | ") + " |"
    }
}
