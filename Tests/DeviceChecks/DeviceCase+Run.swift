import Foundation
import SpoolCore
import SpoolSystem

extension DeviceCase {
    /// With Spool a start may take this much longer than a plain one: a fifth and 50 ms. The limit
    /// was chosen, and a device will tell whether it is right.
    static let startFactor = 1.2, startMilliseconds = 50.0

    /// Runs the case.
    ///
    /// - Parameters:
    ///   - samples: The media.
    ///   - fault: A fault in the double, for tests of the cases themselves.
    @MainActor public func run(_ samples: Samples, fault: BenchFault = .none) async -> CaseResult {
        let time = SystemTime()
        let start = time.now
        var result = CaseResult(check: self, verdict: .passed, seconds: 0, plain: [:], spool: [:])
        do {
            try await run(samples, fault, &result)
        } catch {
            result.verdict = Verdict(error)
        }
        result.seconds = Double(time.now - start) / 1e9
        return result
    }

    @MainActor private func run(_ samples: Samples, _ fault: BenchFault, _ result: inout CaseResult) async throws {
        if !Bench.isReal, case .realPlayer(let lack) = scope { throw CaseEnd.skipped("needs a real player: \(lack)") }
        var plain: Bench?
        if comparesPlain {
            do {
                plain = try await tried(.plain, samples, .none)
            } catch CaseEnd.failed(let reason) {
                throw CaseEnd.skipped("a plain player does not pass either: \(reason)")
            }
        }
        result.plain = plain?.numbers ?? [:]
        let spool = try await tried(.spool, samples, fault)
        result.spool = spool.numbers
        try compare(plain, spool)
    }

    @MainActor private func tried(_ route: Bench.Route, _ samples: Samples, _ fault: BenchFault) async throws -> Bench {
        let bench = try Bench(route, samples, fault)
        do {
            try await body(bench)
            try bench.checkContract()
        } catch {
            await bench.close()
            throw error
        }
        await bench.close()
        return bench
    }

    @MainActor private func compare(_ plain: Bench?, _ spool: Bench) throws {
        guard let plain else { return }
        for (name, outcome) in plain.outcomes.sorted(by: { $0.key < $1.key }) where spool.outcomes[name] != outcome {
            throw CaseEnd.failed("\(name): \(spool.outcomes[name] ?? "nothing") with Spool, \(outcome) without")
        }
        for (name, excess) in spool.excess.sorted(by: { $0.key < $1.key }) {
            let (ours, limit) = (spool.numbers[name] ?? 0, (plain.numbers[name] ?? 0) + excess)
            if ours > limit { throw CaseEnd.failed("\(CaseResult.short(ours)) \(name), at most \(CaseResult.short(limit))") }
        }
        guard Bench.isReal, let ours = spool.numbers[Bench.start], let theirs = plain.numbers[Bench.start] else { return }
        let limit = theirs * Self.startFactor + Self.startMilliseconds
        if ours > limit { throw CaseEnd.failed("the start took \(CaseResult.short(ours)) ms, at most \(CaseResult.short(limit)) ms") }
    }
}

/// Runs cases, and writes their results.
public enum DeviceChecks {
    /// Runs cases one after the other, so that none disturbs the times of another.
    ///
    /// - Parameters:
    ///   - only: The identifiers of the cases, or nil for all.
    ///   - report: Called with each result.
    @MainActor public static func run(
        only: Set<String>? = nil, _ samples: Samples, report: (CaseResult) -> Void
    ) async -> [CaseResult] {
        var results: [CaseResult] = []
        for check in DeviceCase.all where only?.contains(check.id) != false {
            let result = await check.run(samples)
            report(result)
            results.append(result)
        }
        return results
    }

    /// The results as a JSON array.
    public static func json(_ results: [CaseResult]) -> String {
        let rows = results.map { result -> String in
            let (word, reason) = result.verdict.words
            let fields = [
                ("id", quoted(result.check.id)), ("title", quoted(result.check.title)), ("verdict", quoted(word)),
                ("reason", quoted(reason)), ("assumptions", "[\(result.check.assumptions.map(quoted).joined(separator: ", "))]"),
                ("seconds", CaseResult.short(result.seconds)), ("plain", numbers(result.plain)), ("spool", numbers(result.spool)),
            ]
            return "  {" + fields.map { "\(quoted($0.0)): \($0.1)" }.joined(separator: ", ") + "}"
        }
        return "[\n\(rows.joined(separator: ",\n"))\n]\n"
    }

    /// The results as a JUnit file.
    public static func junit(_ results: [CaseResult]) -> String {
        let cases = results.map { result -> String in
            let (word, reason) = result.verdict.words
            let head = "  <testcase name=\"\(result.check.id) \(escaped(result.check.title))\" time=\"\(CaseResult.short(result.seconds))\""
            switch result.verdict {
            case .passed: return head + "/>"
            case .failed: return head + "><failure message=\"\(escaped(reason))\"/></testcase>"
            case .skipped: return head + "><\(word) message=\"\(escaped(reason))\"/></testcase>"
            }
        }
        return "<testsuite name=\"spool-device-check\" tests=\"\(results.count)\">\n\(cases.joined(separator: "\n"))\n</testsuite>\n"
    }

    private static func numbers(_ values: [String: Double]) -> String {
        "{" + values.sorted { $0.key < $1.key }.map { "\(quoted($0.key)): \(CaseResult.short($0.value))" }.joined(separator: ", ") + "}"
    }

    private static func quoted(_ text: String) -> String {
        let characters = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case "\u{0}"..<" ": " "
            default: String(scalar)
            }
        }
        return "\"\(characters.joined())\""
    }

    private static func escaped(_ text: String) -> String {
        text.map { ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"][$0] ?? String($0) }.joined()
    }
}
