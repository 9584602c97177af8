import SpoolCore
import SpoolSystem

/// Gives out generation numbers from those that the index has reserved.
///
/// A number that was given out is not given out again, also when the store is suspended and resumed in between: sessions that
/// live on tell versions apart by it.
final class GenerationNumbers: Sendable {
    private struct State {
        var first: Int64
        var next: Int64
        var reserved: Int64
        /// What is given out next after the store changes between writing and reading: a process that reads has numbers of its own.
        var nextOfOtherRole: Int64 = 0
        /// Somebody was told to reserve more numbers, and has not done it yet.
        var isReserving = false

        var isForReading: Bool { next >= StoreIndex.firstUnstoredGeneration }
    }

    private let state: Locked<State>

    init(first: Int64, reserved: Int64) {
        state = Locked(State(first: first, next: first, reserved: reserved))
    }

    /// Goes on with the numbers of another opening.
    func restart(first: Int64, reserved: Int64) {
        state.withLock { state in
            let isForReading = first >= StoreIndex.firstUnstoredGeneration
            let isSameRole = isForReading == state.isForReading
            let (same, other) = isSameRole ? (state.next, state.nextOfOtherRole) : (state.nextOfOtherRole, state.next)
            state = State(first: first, next: max(first, same), reserved: reserved, nextOfOtherRole: other)
        }
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

    // MARK: Running short

    /// Whether more numbers have to be reserved: half a block or less is left. True once, until `endReservation`.
    func beginReservation() -> Bool {
        state.withLock { state in
            guard !state.isReserving, !state.isForReading else { return false }
            state.isReserving = state.next > state.reserved - StoreIndex.generationBlock / 2
            return state.isReserving
        }
    }

    /// The reservation is over; when it failed, the next number that is given out asks for another.
    func endReservation() {
        state.withLock { $0.isReserving = false }
    }
}
