import SpoolCore
import SpoolSystem

/// Gives out generation numbers from those that the index has reserved.
final class GenerationNumbers: Sendable {
    private struct State {
        var first: Int64
        var next: Int64
        var reserved: Int64
    }

    private let state: Locked<State>

    init(first: Int64, reserved: Int64) {
        state = Locked(State(first: first, next: first, reserved: reserved))
    }

    /// Begins anew, with the numbers of another opening.
    func restart(first: Int64, reserved: Int64) {
        state.withLock { $0 = State(first: first, next: first, reserved: reserved) }
    }

    /// The first number of this opening of the store.
    var first: Int64 { state.withLock { $0.first } }

    /// The number that is given out next.
    var next: Int64 { state.withLock { $0.next } }

    /// A number that was not given out before.
    func make() -> GenerationID {
        state.withLock { state in
            defer { state.next += 1 }
            return GenerationID(rawValue: state.next)
        }
    }

    /// Goes on behind `last`, with numbers up to `reserved`: those up to `last` are not given out any more.
    func skip(to last: Int64, reserved: Int64) {
        state.withLock { state in
            state.next = max(state.next, last + 1)
            state.reserved = max(state.reserved, reserved)
        }
    }

    /// Whether a later opening of the store will not give out this number too; only then may it name a file.
    func isReserved(_ generation: GenerationID) -> Bool {
        state.withLock { generation.rawValue <= $0.reserved }
    }

    /// Enters that numbers up to `reserved` are ours.
    func reserve(upTo reserved: Int64) {
        state.withLock { $0.reserved = max($0.reserved, reserved) }
    }
}
