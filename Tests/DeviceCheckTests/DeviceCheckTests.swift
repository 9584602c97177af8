import Foundation
import SpoolDeviceChecks
import Testing

/// The cases for real players. On Linux they run against the double, which shows that they work as
/// tests and can fail. It says nothing about a device.
@Suite(.serialized, .timeLimit(.minutes(20))) struct DeviceCheckTests {
    @Test(arguments: DeviceCase.all.map(\.id))
    func `a case passes, or gives the reason why it decided nothing`(id: String) async throws {
        let check = try #require(DeviceCase.all.first { $0.id == id })
        let result = await check.run(try await Samples.shared.value)
        switch result.verdict {
        case .passed: #expect(check.runsOnDouble || isApple)
        case .skipped(let reason): #expect(!check.runsOnDouble || isApple, "\(reason)")
        case .failed(let reason): Issue.record("\(id): \(reason)")
        }
    }

    #if os(Linux)
    /// A case that passes whatever happens would decide nothing. Wrong bytes fail the cases that
    /// read by the loader, and a player that plays nothing fails each of them.
    @Test(arguments: DeviceCase.all.filter(\.runsOnDouble).map(\.id))
    func `a case fails with a fault in the double`(id: String) async throws {
        let check = try #require(DeviceCase.all.first { $0.id == id })
        let samples = try await Samples.shared.value
        for fault in [BenchFault.wrongBytes, .nothingPlays] {
            if case .failed = await check.run(samples, fault: fault).verdict { return }
        }
        Issue.record("\(id) saw no fault")
    }
    #endif

    private var isApple: Bool {
        #if os(Linux)
        false
        #else
        true
        #endif
    }
}

extension Samples {
    /// The media of all tests of this process.
    static let shared = Task { try await Samples() }
}

/// The page for a person with a phone, and its table of assumptions.
struct DeviceCheckPageTests {
    private struct Row {
        var cells: [String]
        var id: String { cells[0] }
        /// `B` breaks playback, `D` degrades it, `N` has no effect that a user sees.
        var effect: String { cells[1] }
        var places: Set<String> { Set(cells[3].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }) }
    }

    private static let page: [[String]] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../docs/device-check.md")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { line in
            line.split(separator: "|", omittingEmptySubsequences: true).map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }()

    /// The table of assumptions: an identifier, the effect, the words, the places that decide.
    private static let assumptions = page.filter { $0.count == 4 && ["B", "D", "N"].contains($0[1]) }.map(Row.init)
    /// The identifiers of the rows for a person.
    private static let steps = Set(page.filter { $0.count == 4 && $0[0].first == "V" }.map { $0[0] })

    @Test func `each assumption that breaks playback has a case or a row for a person`() {
        #expect(Self.assumptions.count == 79)
        #expect(Self.steps.count == 14)
        let cases = Set(DeviceCase.all.map(\.id))
        let asked: Set<String> = ["L12", "L15", "L17", "L18", "L26", "P8", "P13", "P19"]
        for row in Self.assumptions where row.effect == "B" || asked.contains(row.id) {
            #expect(!row.places.isDisjoint(with: cases.union(Self.steps)), "\(row.id) is decided nowhere")
        }
    }

    @Test func `the table and the cases name each other`() {
        let named = Dictionary(
            grouping: DeviceCase.all.flatMap { check in check.assumptions.map { (id: $0, check: check.id) } }, by: \.id
        ).mapValues { Set($0.map(\.check)) }
        #expect(Set(named.keys).subtracting(Self.assumptions.map(\.id)) == [], "no such assumption in the table")
        for row in Self.assumptions {
            let cases = row.places.filter { $0 != "–" && !Self.steps.contains($0) }
            #expect(cases == named[row.id] ?? [], "\(row.id)")
        }
    }

    @Test func `each publisher has a case`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/SpoolAVFoundation/Observation/Publishers+Combine.swift")
        let words = try String(contentsOf: file, encoding: .utf8).split { " :(\n".contains($0) }.map(String.init)
        var type = "", publishers: Set<String> = []
        for (word, next) in zip(words, words.dropFirst()) {
            if word == "extension" { type = next }
            let isPublisher = next.hasSuffix("Publisher") || next == "objectWillChange"
            if ["var", "func"].contains(word), isPublisher { publishers.insert("\(type).\(next)") }
        }
        #expect(publishers.count == 8)
        let titles = DeviceCase.all.map(\.title)
        for name in publishers { #expect(titles.contains { $0.hasPrefix(name) }, "\(name) has no case") }
    }

    @Test func `the list has at least fifty cases, each with an identifier of its own`() {
        #expect(DeviceCase.all.count >= 50)
        #expect(Set(DeviceCase.all.map(\.id)).count == DeviceCase.all.count)
    }
}
