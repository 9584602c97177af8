import SpoolCore
import SpoolSystem

/// Hands out generation numbers from those that the index has reserved.
///
/// It never hands out a number twice, even when the store is suspended and resumed in between.
/// Sessions that survive the suspension distinguish versions by this number.
final class GenerationNumbers: Sendable {
    private struct State {
        var first: Int64
        var next: Int64
        var reserved: Int64
        /// The next number of the other role. A process that reads has a range of numbers of its
        /// own, used when the store changes between writing and reading.
        var nextOfOtherRole: Int64 = 0
        /// Whether a caller was asked to reserve more numbers and has not done so yet.
        var isReserving = false

        var isForReading: Bool { next >= StoreIndex.firstUnstoredGeneration }
    }

    private let state: Locked<State>

    init(first: Int64, reserved: Int64) {
        state = Locked(State(first: first, next: first, reserved: reserved))
    }

    /// Continues with the numbers of another opening.
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

    /// The next number to hand out.
    var next: Int64 { state.withLock { $0.next } }

    /// Returns a number that was never returned before.
    func make() -> GenerationID {
        state.withLock { state in
            defer { state.next += 1 }
            return GenerationID(rawValue: state.next)
        }
    }

    /// Continues after `last`, with numbers up to `reserved`. Numbers up to `last` are not handed
    /// out any more.
    func skip(to last: Int64, reserved: Int64) {
        state.withLock { state in
            state.next = max(state.next, last + 1)
            state.reserved = max(state.reserved, reserved)
        }
    }

    /// Whether the number is reserved, so that no later opening of the store hands it out again.
    /// Only a reserved number may name a file.
    func isReserved(_ generation: GenerationID) -> Bool {
        state.withLock { generation.rawValue <= $0.reserved }
    }

    /// Records that numbers up to `reserved` are reserved for this opening.
    func reserve(upTo reserved: Int64) {
        state.withLock { $0.reserved = max($0.reserved, reserved) }
    }

    // MARK: Reserving more numbers

    /// Whether the caller has to reserve more numbers, because half a block or less is left.
    /// Returns true once, until `endReservation`.
    func beginReservation() -> Bool {
        state.withLock { state in
            guard !state.isReserving, !state.isForReading else { return false }
            state.isReserving = state.next > state.reserved - StoreIndex.generationBlock / 2
            return state.isReserving
        }
    }

    /// Ends the reservation. After a failed one, the next call of `beginReservation` returns true
    /// again.
    func endReservation() {
        state.withLock { $0.isReserving = false }
    }
}
