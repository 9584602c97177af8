import Foundation
import SpoolSystem

/// A rule of the loader's contract that a delegate can break, by its number in the table of the directory's README.
package enum ContractRule: String, CaseIterable, Sendable {
    /// A request that was accepted is answered, and kept until then.
    case d5 = "D5"
    /// Somebody holds the delegate as long as the asset lives.
    case d7 = "D7"
    /// Content information comes before data, and before the end.
    case l11 = "L11"
    /// A request that asks nothing is finished at once.
    case l13 = "L13"
    /// Bytes are those from the current offset on.
    case r2 = "R2"
    /// No more bytes than asked.
    case r3 = "R3"
    /// The end is told only when the ask is met or the resource ends.
    case r5 = "R5"
    /// Bytes that were handed over never change.
    case r6 = "R6"
    /// Nothing is served on the main thread or the main queue.
    case r10 = "R10"
    /// Nothing after finishing, and one finish.
    case c8 = "C8"
    /// Nothing after the cancel was told, or after the system gave up.
    case c9 = "C9"
    /// An answer within two minutes.
    case c12 = "C12"
    /// A length above zero.
    case c16 = "C16"
    /// A type that can be opened.
    case c17 = "C17"
    /// A type that is allowed.
    case c18 = "C18"
    /// A type identifier, not a MIME type.
    case i6 = "I6"
    /// A redirect goes to HTTP or HTTPS with a 302 response, before any information or data.
    case h1 = "H1"
}

/// One breach of the contract.
package struct ContractBreach: Hashable, Sendable, CustomStringConvertible {
    package let rule: ContractRule
    package let words: String

    package var description: String { "\(rule.rawValue): \(words)" }
}

/// Where breaches of the contract are written down; a test fails when it is not empty.
package final class ContractJournal: Sendable {
    /// Breaches beyond these are counted only.
    package static let maxBreaches = 100
    /// The answers that are looked at again, so that bytes that change later are seen (R6).
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

    package init() {}

    /// The first ``maxBreaches``, in order.
    package var breaches: [ContractBreach] { state.withLock { $0.breaches } }

    package var count: Int { state.withLock { $0.count } }

    package func note(_ rule: ContractRule, _ words: String) {
        state.withLock { state in
            state.count += 1
            if state.breaches.count < Self.maxBreaches { state.breaches.append(ContractBreach(rule: rule, words: words)) }
        }
    }

    /// Keeps an answer, as the system does, and notes when one that is let go has changed.
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

    /// Looks at the answers that are still kept and lets go of them; to be called at the end.
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

    /// FNV-1a over at most 512 of the bytes, spread evenly: enough to see a buffer that was used again.
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
