package import SpoolCore

/// Decides when the original replaces an item of the cache.
///
/// The machine follows one item, which is the current one of its player. It replaces the item once:
/// when it failed, or when nothing moved for a while although the original answers.
///
/// A value without clock, network and player. The shell looks at the item's movement at intervals
/// of `RescueLimits.interval` while the machine asks for it. So a process that was suspended has
/// waited for one interval, however long it slept, and an item that plays well costs nothing.
package struct RescueStateMachine: Hashable, Sendable {
    /// The states, with their successors.
    package enum State: Hashable, Sendable {
        /// The item plays, or is paused with bytes. Next: `.watching`, `.asking`.
        case resting
        /// The item waits, and nothing has moved at the last `quiet` looks. Next: `.resting`,
        /// `.asking`.
        case watching(Need, quiet: Int)
        /// The original is asked for one byte. Next: `.replaced`, `.watching`, `.over`, `.resting`.
        case asking(RescueReason)
        /// The original plays in place of the item, or tries to. Next: `.over`.
        case replaced(RescueReason)
        /// Nothing more is done for the item.
        case over
    }

    /// The reason why an item waits.
    package enum Need: Hashable, Sendable {
        /// It is not ready to play.
        case opening
        /// Its player ran out of bytes.
        case stalled
    }

    /// The condition of an item.
    package enum Condition: Hashable, Sendable {
        /// It needs bytes.
        case needs(Need)
        /// It plays, or is paused and could play.
        case well
        /// It failed. The original may play unless the error rules that out.
        case failed(mayPlayFromOriginal: Bool)
    }

    /// An action for the shell.
    package enum Action: Hashable, Sendable {
        /// Call `looked` after one interval.
        case lookLater
        /// Ask the original for one byte, and call `answered`.
        case ask
        /// Replace the item by a plain asset of the original.
        case replace(RescueReason)
    }

    /// The present state.
    package private(set) var state = State.resting
    private let limits: RescueLimits
    /// The most of each number so far.
    private var movement = RescueMovement()
    /// Whether a look is on its way. An item that waits again before it comes needs no other.
    private var isLookDue = false
    /// The number of looks before the original may be asked again.
    private var looksToAsk = 0

    /// Creates a machine for an item.
    package init(limits: RescueLimits = RescueLimits()) { self.limits = limits }

    /// Whether the machine decides about a failed item, which may go on by the original.
    package var decidesAboutFailure: Bool { state == .asking(.failed) }

    /// Takes the condition of the item.
    package mutating func became(_ condition: Condition) -> [Action] {
        switch (state, condition) {
        // An item whose failure was overcome plays by itself.
        case (.asking(.failed), .well):
            state = .resting
            return []
        case (.replaced, _), (.over, _), (.asking(.failed), _): return []
        case (_, .failed(mayPlayFromOriginal: false)):
            state = .over
            return []
        case (_, .failed):
            state = .asking(.failed)
            return [.ask]
        case (.resting, .well): return []
        case (.watching, .well), (.asking, .well):
            state = .resting
            return []
        case (.watching(let known, _), .needs(let need)) where known == need: return []
        case (.resting, .needs(let need)), (.watching, .needs(let need)):
            movement = RescueMovement()
            // A look that is due already comes sooner than after an interval, so it does not count.
            return watch(need, quiet: isLookDue ? -1 : 0)
        case (.asking, .needs): return []
        }
    }

    /// Waits for the next look.
    private mutating func watch(_ need: Need, quiet: Int) -> [Action] {
        defer { isLookDue = true }
        state = .watching(need, quiet: quiet)
        return isLookDue ? [] : [.lookLater]
    }

    /// Takes a look at the item.
    package mutating func looked(_ movement: RescueMovement) -> [Action] {
        (isLookDue, looksToAsk) = (false, max(0, looksToAsk - 1))
        let hasMoved = note(movement)
        guard case .watching(let need, let quiet) = state else { return [] }
        let count = hasMoved ? 0 : quiet + 1
        guard count >= limits.quietLooks(need), looksToAsk == 0 else { return watch(need, quiet: count) }
        (state, looksToAsk) = (.asking(need == .opening ? .doesNotOpen : .stalled), limits.looksBetweenAsks)
        return [.ask]
    }

    /// Returns whether a number has grown. One that shrinks is no movement: the cache does not
    /// count the stored bytes of a resource that nothing reads.
    private mutating func note(_ new: RescueMovement) -> Bool {
        let most = RescueMovement(most: movement, new)
        defer { movement = most }
        return most != movement
    }

    /// Takes the answer of the original: whether it sent the byte.
    ///
    /// - Parameter movement: The movement of the item at this moment. An item that moved meanwhile
    ///   is left alone.
    package mutating func answered(_ isThere: Bool, movement: RescueMovement) -> [Action] {
        guard case .asking(let reason) = state else { return [] }
        let hasMoved = note(movement) && reason != .failed
        guard isThere, !hasMoved else {
            guard let need = reason.need else {
                state = .over
                return []
            }
            return watch(need, quiet: hasMoved ? 0 : limits.quietLooks(need))
        }
        state = .replaced(reason)
        return [.replace(reason)]
    }
}

/// The bytes of an item so far. An item moves while one of the numbers grows, so a transfer that
/// brings bytes is never in doubt.
package struct RescueMovement: Hashable, Sendable {
    /// The different bytes that the player can have: those that it got, and those that were stored
    /// before. A player that asks again for the same bytes does not move.
    package var delivered: Int64
    /// The bytes of the resource that are stored, or that came from its origin.
    package var fetched: Int64

    /// Creates a movement.
    package init(delivered: Int64 = 0, fetched: Int64 = 0) {
        (self.delivered, self.fetched) = (delivered, fetched)
    }

    /// Creates the larger one of each number.
    init(most a: RescueMovement, _ b: RescueMovement) {
        self.init(delivered: max(a.delivered, b.delivered), fetched: max(a.fetched, b.fetched))
    }
}

/// The reason why the original replaced an item.
package enum RescueReason: String, Hashable, Sendable {
    /// The item failed.
    case failed
    /// The item did not become ready, and nothing moved.
    case doesNotOpen
    /// The player ran out of bytes, and nothing moved.
    case stalled

    /// The need that led to the question, or nil for an item that failed.
    var need: RescueStateMachine.Need? {
        switch self {
        case .failed: nil
        case .doesNotOpen: .opening
        case .stalled: .stalled
        }
    }

    /// The reason in words.
    package var words: String {
        switch self {
        case .failed: "the item failed, and the original answered"
        case .doesNotOpen: "nothing moved while the item opened, and the original answered"
        case .stalled: "nothing moved in a stall, and the original answered"
        }
    }
}

/// The limits of rescues.
package struct RescueLimits: Hashable, Sendable {
    /// The time between two looks.
    package var interval: Nanoseconds = .seconds(5)
    /// The number of looks without movement after which an item that opens is in doubt: 15 seconds.
    /// A player on its own often needs as long on a slow network, but its bytes move.
    package var quietLooksToOpen = 3
    /// The same for a stall: 30 seconds.
    package var quietLooksInStall = 6
    /// The number of looks between two questions to an original: one minute.
    package var looksBetweenAsks = 12

    /// Creates the default limits.
    package init() {}

    func quietLooks(_ need: RescueStateMachine.Need) -> Int { need == .opening ? quietLooksToOpen : quietLooksInStall }
}
