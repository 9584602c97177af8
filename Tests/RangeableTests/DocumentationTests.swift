import Foundation
import Rangeable
import Testing

/// Runs the README's two examples, and checks that the README contains them.
@Suite struct `examples of the README` {
    @Test func `the README's example of an interval set runs`() {
        // README: IntervalSet
        var stored = IntervalSet<Int64>()
        stored.insert(0..<65_536)  // half-open ranges
        stored.insert(65_536...131_071)  // or closed ones: what touches becomes one
        stored.insert(1_000_000..<1_048_576)
        let first = stored.prefix(from: 4096, upTo: 500_000)  // 4096..<131072: can be served at once
        let gap = stored.firstGap(in: 4096..<2_000_000)  // 131072..<1000000: to be fetched
        let gaps = stored.gaps(in: 4096..<2_000_000)  // that one, and 1048576..<2000000
        stored.remove(0...4095)
        let both = stored.intersection([0...200_000])  // [4096...131071]
        let saved = stored.union([0...4095]).subtracting(both)
        // README: end
        #expect(first == 4096..<131_072)
        #expect(gap == 131_072..<1_000_000)
        #expect(gaps == [131_072..<1_000_000, 1_048_576..<2_000_000])
        #expect(both == [4096...131_071])
        #expect(saved == [0...4095, 1_000_000...1_048_575])
    }

    @Test func `the README's example of a container of elements runs`() throws {
        // README: Rangeable
        var styles = Rangeable<String>()
        try styles.insert("b", start: 2, end: 5)
        try styles.insert("i", start: 3, end: 8)
        try styles.insert("b", start: 6, end: 7)  // touches 2...5
        let bold = styles.getRange(of: "b")  // [2...7]
        let active = styles[4].objs  // ["b", "i"], in the order of first insertion
        let tags = styles.transitions(over: 0...9).map { event in
            "\(event.coordinate!)" + (event.kind == .open ? "<\(event.element)>" : "</\(event.element)>")
        }  // 2<b> 3<i> 8</b> 9</i>
        try styles.removeRanges(start: 4, end: 5)
        // README: end
        #expect(bold == [Interval(lo: 2, hi: 7)])
        #expect(active == ["b", "i"])
        #expect(tags == ["2<b>", "3<i>", "8</b>", "9</i>"])
        #expect(styles.description == "[b: [2...3, 6...7], i: [3...3, 6...8]]")
    }

    @Test func `the examples in this file are those of the README`() throws {
        let package = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let readme = try String(contentsOf: package.appendingPathComponent("Sources/Rangeable/README.md"), encoding: .utf8)
        let shown = Set(readme.split(separator: "\n").map { Self.words($0) })
        let source = try String(contentsOfFile: #filePath, encoding: .utf8).split(separator: "\n")
        for part in ["IntervalSet", "Rangeable"] {
            let begin = try #require(source.firstIndex { $0.hasSuffix("// README: \(part)") })
            let lines = source[(begin + 1)...].prefix { !$0.hasSuffix("// README: end") }
            #expect(lines.count == 10, "\(part)")
            for line in lines { #expect(shown.contains(Self.words(line)), "not in the README: \(line)") }
        }
    }

    /// Returns a line without its indentation.
    private static func words(_ line: Substring) -> [Substring] { line.split(separator: " ") }
}
