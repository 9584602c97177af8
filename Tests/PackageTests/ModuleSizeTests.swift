import Foundation
import Testing

/// The table of lines by module in CONTRIBUTING.md. A feature that makes a module grow shows there.
struct ModuleSizeTests {
    private static let page = PackageDirectory.url.appendingPathComponent("CONTRIBUTING.md")
    private static let begin = "<!-- lines by module -->", end = "<!-- end of the lines by module -->"
    /// The share of its lines by which a module may differ from its row.
    private static let tolerance = 0.03
    /// The lines by which a small module may differ.
    private static let leastTolerance = 50

    @Test func `the table of lines by module is that of the tree`() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let start = try #require(text.range(of: Self.begin)), stop = try #require(text.range(of: Self.end))
        let counts = Self.counts()
        if ProcessInfo.processInfo.environment["SPOOL_UPDATE_PAGES"] == "1" {
            let updated = text.replacingCharacters(in: start.upperBound..<stop.lowerBound, with: "\n\(Self.table(counts))\n")
            return try updated.write(to: Self.page, atomically: true, encoding: .utf8)
        }
        let stated = Self.rows(text[start.upperBound..<stop.lowerBound])
        #expect(stated.keys.sorted() == counts.map(\.name).sorted())
        let wrong = counts.compactMap { row -> String? in
            guard let lines = stated[row.name] else { return nil }
            let allowed = max(Self.leastTolerance, Int(Double(row.lines) * Self.tolerance))
            return abs(lines - row.lines) > allowed ? "\(row.name) has \(row.lines) lines, the table has \(lines)" : nil
        }
        #expect(wrong == [], "SPOOL_UPDATE_PAGES=1 swift test --filter ModuleSizeTests rewrites the table")
    }

    private typealias Row = (name: String, lines: Int)

    /// The modules, the largest first, and the sums of what a product compiles.
    private static func counts() -> [Row] {
        let lines = Dictionary(grouping: PackageDirectory.sources, by: \.module)
            .mapValues { $0.reduce(0) { $0 + $1.lines.count - 1 } }
        func sum(of product: String) -> Int {
            lines.filter { $0.key == product || ModuleMap.reachable(from: product).contains($0.key) }.values.reduce(0, +)
        }
        let modules = lines.map { Row(name: "`\($0.key)`", lines: $0.value) }
            .sorted { ($0.lines, $1.name) > ($1.lines, $0.name) }
        return modules + [
            Row(name: "all that an app with `Spool` compiles", lines: sum(of: "Spool")),
            Row(name: "all that an app with `SpoolAVFoundation` compiles", lines: sum(of: "SpoolAVFoundation")),
            Row(name: "all modules", lines: lines.values.reduce(0, +)),
        ]
    }

    private static func table(_ rows: [Row]) -> String {
        (["| module | lines |", "|---|---:|"] + rows.map { "| \($0.name) | \(rounded($0.lines)) |" }).joined(separator: "\n")
    }

    private static func rounded(_ lines: Int) -> Int {
        let step = lines < 1000 ? 10 : 100
        return (lines + step / 2) / step * step
    }

    private static func rows(_ table: Substring) -> [String: Int] {
        let cells = table.split(separator: "\n").map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        return Dictionary(
            cells.compactMap { row in row.last.flatMap { Int($0) }.map { (row[0], $0) } }, uniquingKeysWith: { first, _ in first })
    }
}
