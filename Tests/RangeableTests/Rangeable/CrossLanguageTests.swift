import Foundation
import Rangeable
import Testing

/// The Rangeable RFC's cases, for which implementations in every language give the same results.
///
/// The file is not part of the project; the containers' own suites have cases of each kind in it.
@Suite(.enabled(if: CrossLanguageCases.isThere, "\(CrossLanguageCases.location) is not there"))
struct `cross-language cases` {
    private let cases: CrossLanguageCases

    init() throws { cases = try CrossLanguageCases.load() }

    @Test func `active elements and transitions after each phase are as expected`() throws {
        #expect(!cases.probes.isEmpty)
        let phases = try cases.phases()
        for probe in cases.probes {
            let phase = try #require(phases[probe.phase ?? "v1"])
            check(probe, phase, "\(probe.phase ?? "v1")")
        }
    }

    @Test func `set operations give the expected order, intervals and results`() throws {
        #expect(!cases.setOperations.isEmpty)
        for operation in cases.setOperations {
            let result = try operation.result()
            result.checkInvariants()
            #expect(result.map { $0.0 } == operation.expectedState.insertionOrder, "\(operation.id)")
            let intervals = Dictionary(uniqueKeysWithValues: result.map { ($0.0, $0.1.map { [$0.lo, $0.hi] }) })
            #expect(intervals == operation.expectedState.intervals, "\(operation.id)")
            for probe in operation.probes { check(probe, result, operation.id) }
        }
    }

    private func check(_ probe: CrossLanguageCases.Probe, _ container: Rangeable<String>, _ context: String) {
        switch probe.question {
        case .active(let index, let expected):
            #expect(container[index].objs == expected, "\(context), at \(index)")
        case .transitions(let range, let expected):
            #expect(container.transitions(over: range) == expected, "\(context), over \(range)")
        }
    }
}
