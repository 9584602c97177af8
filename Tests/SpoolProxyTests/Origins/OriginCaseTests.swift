import Foundation
import SpoolTestSupport
import SpoolTesting
import Testing

/// The table of hostile origins at the HTTP door (docs/origins.md): the answer, the stored bytes,
/// and the requests to the origin.
@Suite(.timeLimit(.minutes(20))) struct OriginCaseTests {
    @Test(arguments: OriginCase.all.filter { $0.doors.contains(.http) })
    func `each hostile origin leads to the answer of its row`(row: OriginCase) throws {
        let differences = try OriginCaseRun.scripted(row).differences(from: row.outcome)
        #expect(differences.isEmpty, "an origin that \(row.name)\n\(differences.joined(separator: "\n"))")
    }

    #if os(Linux)
    @Test(arguments: OriginCase.all.filter { $0.doors.contains(.socket) && (!$0.isAtIPv6 || RawOrigin.hasIPv6) })
    func `each hostile origin on a socket leads to the answer of its row`(row: OriginCase) throws {
        let differences = try OriginCaseRun.onSocket(row).differences(from: row.socketOutcome)
        #expect(differences.isEmpty, "an origin that \(row.name)\n\(differences.joined(separator: "\n"))")
    }
    #endif
}

/// docs/origins.md agrees with the table of origins.
@Suite struct OriginPageTests {
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../docs/origins.md")

    /// `SPOOL_UPDATE_PAGES=1` writes the page's lines instead of comparing them.
    @Test func `the page on origins has one line for each row of the table, in order`() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        if ProcessInfo.processInfo.environment["SPOOL_UPDATE_PAGES"] == "1" { return try Self.update(text) }
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map(String.init)
        let expected = OriginCase.all.map(\.line)
        for (found, line) in zip(lines, expected) where found != line {
            Issue.record("docs/origins.md has\n\(found)\nand the table\n\(line)")
            return
        }
        #expect(lines.count == expected.count, "the first missing line: \(expected.dropFirst(lines.count).first ?? "none")")
    }

    private static func update(_ text: String) throws {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        // The first line of the table is its heading.
        guard let first = lines.firstIndex(where: { $0.hasPrefix("| ") }).map({ $0 + 2 }),
            let last = lines.lastIndex(where: { $0.hasPrefix("| ") })
        else { return }
        lines.replaceSubrange(first...last, with: OriginCase.all.map(\.line))
        try lines.joined(separator: "\n").write(to: page, atomically: true, encoding: .utf8)
    }
}

extension OriginCase {
    /// The row's line on the page.
    fileprivate var line: String {
        let doors = [(Doors.http, "H"), (.socket, "S")].filter { self.doors.contains($0.0) }.map(\.1) + (isForLoader ? ["A"] : [])
        var cells = [number, name, outcome.answers, outcome.stored, outcome.requests]
        if self.doors.contains(.socket), let socketRequests { cells[4] += "<br>S: \(socketRequests)" }
        if isForLoader, let loader {
            let pairs = [
                (loader.answers, loaderOutcomeByDefault.answers), (loader.stored, outcome.stored), (loader.requests, outcome.requests),
            ]
            for (index, (special, usual)) in pairs.enumerated() where special != usual { cells[index + 2] += "<br>A: \(special)" }
        }
        return "| " + (cells + [doors.joined()]).map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
    }

    private var loaderOutcomeByDefault: Outcome {
        var row = self
        row.loader = nil
        return row.loaderOutcome
    }
}
