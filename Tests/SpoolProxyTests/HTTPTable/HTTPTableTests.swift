import Foundation
import SpoolTesting
import Testing

/// The requirements of HTTP at the door of `serve --origin` (docs/http.md).
@Suite(.timeLimit(.minutes(20))) struct HTTPTableTests {
    @Test(arguments: HTTPCase.all)
    func `each requirement of HTTP holds`(row: HTTPCase) throws {
        let differences = try HTTPCaseRun.differences(row)
        #expect(differences.isEmpty, "\(row.section), \(row.requirement): \(row.conversation)\n\(differences.joined(separator: "\n"))")
    }

    @Test(arguments: HTTPCase.ofGeneralProxy)
    func `each requirement of caching holds in a proxy for all sites, too`(row: HTTPCase) throws {
        let differences = try HTTPCaseRun.differences(row, isSite: false)
        #expect(differences.isEmpty, "\(row.section), \(row.requirement): \(row.conversation)\n\(differences.joined(separator: "\n"))")
    }
}

/// docs/http.md agrees with the table.
@Suite struct HTTPPageTests {
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../docs/http.md")

    /// `SPOOL_UPDATE_PAGES=1` writes the page's lines instead of comparing them.
    @Test func `the page on HTTP has one line for each requirement, in order`() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let first = try #require(lines.firstIndex { $0.hasPrefix("|---") }) + 1
        let expected = HTTPCase.all.map(\.line)
        if ProcessInfo.processInfo.environment["SPOOL_UPDATE_PAGES"] == "1" {
            return try (lines[..<first] + expected + [""]).joined(separator: "\n").write(to: Self.page, atomically: true, encoding: .utf8)
        }
        let found = lines[first...].filter { !$0.isEmpty }
        for (found, line) in zip(found, expected) where found != line {
            Issue.record("docs/http.md has\n\(found)\nand the table\n\(line)")
            return
        }
        #expect(found.count == expected.count)
    }

    @Test func `the table has at least 250 requirements, and none twice`() {
        #expect(HTTPCase.all.count >= 250)
        #expect(Set(HTTPCase.all.map { "\($0.section) \($0.requirement)" }).count == HTTPCase.all.count)
    }
}

extension HTTPCase {
    /// The case's line on the page.
    fileprivate var line: String {
        "| RFC \(section) | \(requirement) | `\(conversation.replacing("|", with: "\\|"))` |"
    }
}
