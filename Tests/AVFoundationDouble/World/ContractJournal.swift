import Foundation
import SpoolSystem

/// A rule of the loader's contract that a delegate can break, by its number in the table of the
/// directory's README.
package enum ContractRule: String, CaseIterable, Sendable {
    /// An accepted request is retained and answered.
    case d5 = "D5"
    /// The app retains the delegate as long as the asset lives.
    case d7 = "D7"
    /// Content information comes before data, and before the end.
    case l11 = "L11"
    /// A request without information or data is finished at once.
    case l13 = "L13"
    /// The bytes are those from the current offset on.
    case r2 = "R2"
    /// No more bytes than requested.
    case r3 = "R3"
    /// A request is finished only when it is complete or the resource ends.
    case r5 = "R5"
    /// Delivered bytes never change.
    case r6 = "R6"
    /// No answer on the main thread or the main queue.
    case r10 = "R10"
    /// No answer after finishing, and one finish only.
    case c8 = "C8"
    /// No answer after the cancel's notification, or after the system gave up.
    case c9 = "C9"
    /// An answer comes within two minutes.
    case c12 = "C12"
    /// The length is above zero.
    case c16 = "C16"
    /// The type can be opened.
    case c17 = "C17"
    /// The type is allowed.
    case c18 = "C18"
    /// The type is a type identifier, not a MIME type.
    case i6 = "I6"
    /// A redirect goes to HTTP or HTTPS with a 302 response, before any information or data.
    case h1 = "H1"
}

/// One breach of the contract.
package struct ContractBreach: Hashable, Sendable, CustomStringConvertible {
    /// The rule that was broken.
    package let rule: ContractRule
    /// A description of the breach.
    package let words: String

    /// The number of the rule, and the description.
    package var description: String { "\(rule.rawValue): \(words)" }
}

/// Records breaches of the contract. A test fails if it has any.
package final class ContractJournal: Sendable {
    /// The largest number of recorded breaches. Further ones are only counted.
    package static let maxBreaches = 100
    /// The number of answers that are kept and checked again, to detect bytes that change later
    /// (R6).
    package static let maxKept = 64

    private struct Kept {
        var data: Data
        var checksum: UInt64
        var request: Int
    }

    private struct State {
        var breaches: [ContractBreach] = []
        var count = 0
        var kept: [Kept] = []
        var next = 0
    }

    private let state = Locked(State())

    /// Makes an empty journal.
    package init() {}

    /// The first ``maxBreaches`` breaches, in order.
    package var breaches: [ContractBreach] { state.withLock { $0.breaches } }

    /// The number of breaches, with those that were not recorded.
    package var count: Int { state.withLock { $0.count } }

    /// Records a breach of a rule.
    package func note(_ rule: ContractRule, _ words: String) {
        state.withLock { state in
            state.count += 1
            if state.breaches.count < Self.maxBreaches { state.breaches.append(ContractBreach(rule: rule, words: words)) }
        }
    }

    /// Keeps an answer, as the system does, and checks the one that it replaces for changes.
    func keep(_ data: Data, of transaction: LoadingTransaction) {
        let kept = Kept(data: data, checksum: Self.checksum(data), request: transaction.number)
        let dropped = state.withLock { state -> Kept? in
            guard state.kept.count == Self.maxKept else {
                state.kept.append(kept)
                return nil
            }
            defer { state.next = (state.next + 1) % Self.maxKept }
            defer { state.kept[state.next] = kept }
            return state.kept[state.next]
        }
        if let dropped { check(dropped) }
    }

    /// Checks the answers that are still kept, and releases them. Call it at the end.
    package func checkKept() {
        let kept = state.withLock { state in
            defer { state.kept = [] }
            state.next = 0
            return state.kept
        }
        for answer in kept { check(answer) }
    }

    private func check(_ kept: Kept) {
        if Self.checksum(kept.data) != kept.checksum { note(.r6, "bytes that answered request \(kept.request) have changed since") }
    }

    /// FNV-1a over at most 512 of the bytes, spread evenly. It is enough to detect a reused buffer.
    private static func checksum(_ data: Data) -> UInt64 {
        data.withUnsafeBytes { bytes in
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            for index in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 512)) {
                hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3
            }
            return hash
        }
    }
}
