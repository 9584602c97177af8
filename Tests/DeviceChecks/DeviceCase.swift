/// One thing to find out about a player, an origin and the cache between them.
///
/// A case is a value: what it does, and the assumptions about Apple's systems that it decides
/// (docs/device-check.md). It runs with a plain player first. A case that a plain player fails says
/// nothing about Spool, so it is skipped.
public struct DeviceCase: Sendable {
    /// The part of a case that needs a real system.
    enum Scope: Sendable {
        /// The double of AVFoundation carries the case, too.
        case everywhere
        /// Only a real player decides. The text names what the double lacks.
        case realPlayer(String)
    }

    /// The identifier, for example `S2`.
    public let id: String
    /// The steps of the case, and the result that has to be seen.
    public let title: String
    /// The assumptions that the case decides, by their identifiers.
    public let assumptions: [String]
    let scope: Scope
    /// Whether a plain player does the same first.
    let comparesPlain: Bool
    let body: @MainActor @Sendable (Bench) async throws -> Void

    init(
        _ id: String, _ title: String, decides assumptions: [String] = [], scope: Scope = .everywhere, comparesPlain: Bool = true,
        _ body: @escaping @MainActor @Sendable (Bench) async throws -> Void
    ) {
        self.id = id
        self.title = title
        self.assumptions = assumptions
        self.scope = scope
        self.comparesPlain = comparesPlain
        self.body = body
    }

    /// All cases, in the order of the list.
    public static let all: [DeviceCase] =
        loading + containers + stalls + queues + resources + origins + playlists + readers + faults
        + publishers

    /// Whether the double of AVFoundation carries the case.
    public var runsOnDouble: Bool { if case .everywhere = scope { true } else { false } }
}

/// The result of a case.
public enum Verdict: Hashable, Sendable {
    /// Every condition of the case held, in this run on this system.
    case passed
    /// A condition did not hold. The text names it.
    case failed(String)
    /// The case decided nothing. The text is the reason.
    case skipped(String)
}

/// The end of a case before its last step.
enum CaseEnd: Error {
    case failed(String)
    case skipped(String)
}

/// The result of a case, with what was measured.
public struct CaseResult: Sendable {
    /// The case.
    public let check: DeviceCase
    /// The result.
    public var verdict: Verdict
    /// The time that the case took, in seconds.
    public var seconds: Double
    /// The measured numbers of the plain player, by names that end with a unit.
    public var plain: [String: Double]
    /// The measured numbers with Spool, by names that end with a unit.
    public var spool: [String: Double]

    /// The result as a line: `passed E1 two bytes first, then to the end, 0.8 s`.
    public var line: String {
        let (word, reason) = verdict.words
        let numbers = spool.sorted { $0.key < $1.key }.map { name, value in
            "\(name) \(Self.short(value))" + (plain[name].map { " (plain \(Self.short($0)))" } ?? "")
        }
        return (["\(word) \(check.id) \(check.title), \(Self.short(seconds)) s"] + (reason.isEmpty ? [] : [reason]) + numbers)
            .joined(separator: "\n    ")
    }

    static func short(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}

extension Verdict {
    /// The word of the verdict, and its reason.
    var words: (word: String, reason: String) {
        switch self {
        case .passed: ("passed", "")
        case .failed(let reason): ("failed", reason)
        case .skipped(let reason): ("skipped", reason)
        }
    }

    init(_ error: any Error) {
        switch error {
        case CaseEnd.failed(let reason): self = .failed(reason)
        case CaseEnd.skipped(let reason): self = .skipped(reason)
        default: self = .failed("\(error)")
        }
    }
}
