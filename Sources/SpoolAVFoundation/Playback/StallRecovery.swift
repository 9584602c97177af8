/// Decides what a controller does with a player whose item ran out of bytes.
///
/// A player that does not wait by itself stops at an empty buffer: its rate becomes 0, as after a
/// pause. Only AVFoundation's notification of a stall distinguishes the two, so a stop without it
/// stays a stop. After a stall it lets the player wait at the rate that
/// it had. A waiting player keeps the intent to play in its own rate: a pause by the user, the app
/// or the system sets the rate to 0, and the machine then does nothing more. So it never starts a
/// player that was paused.
///
/// A value without a clock or a player.
package struct StallRecovery: Hashable, Sendable {
    /// The states, with their successors.
    package enum State: Hashable, Sendable {
        /// The player is paused, or its item does not come from the cache. Next: `.playing`.
        case idle
        /// The player plays at a rate. Next: `.waiting`, `.stopped`, `.idle`.
        case playing(rate: Float)
        /// The rate became 0, and no request was reported. Next: `.waiting` after the notification
        /// of a stall, `.playing`, `.idle`.
        case stopped(rate: Float)
        /// The player ran out of bytes and waits at its rate. Next: `.playing`, `.idle`.
        case waiting(rate: Float)
    }

    /// The reason of a change of the rate.
    package enum Cause: Hashable, Sendable {
        /// The user, the app, or the system on their behalf: a call, an interruption, the
        /// background.
        case request
        /// No reason was reported.
        case unknown
    }

    /// An action for the controller.
    package enum Action: Hashable, Sendable {
        /// Let the player wait by itself, and set this rate.
        case wait(rate: Float)
        /// Play at once at this rate, because there are enough bytes.
        case play(rate: Float)
        /// Let the player stop at an empty buffer again.
        case stopWaiting
        /// Pause the player.
        case pause
    }

    /// The present state.
    package private(set) var state = State.idle

    /// Creates a machine for a paused player.
    package init() {}

    /// Whether the player waits for bytes after a stall.
    package var isWaiting: Bool { if case .waiting = state { true } else { false } }

    /// Begins with another item.
    ///
    /// - Parameters:
    ///   - rate: The player's rate.
    ///   - isCached: Whether the item comes from the cache. The machine leaves other items alone.
    package mutating func itemChanged(rate: Float, isCached: Bool) {
        state = isCached && rate != 0 ? .playing(rate: rate) : .idle
    }

    /// Handles a change of the player's rate.
    package mutating func rateChanged(to rate: Float, _ cause: Cause) -> [Action] {
        switch state {
        case .waiting where rate == 0:
            // A waiting player does not stop by itself, so this is a pause.
            state = .idle
            return [.stopWaiting]
        case .waiting(let old):
            if old != rate { state = .waiting(rate: rate) }
            return []
        case .playing(let old) where rate == 0:
            state = cause == .request ? .idle : .stopped(rate: old)
            return []
        case .stopped where rate == 0:
            if cause == .request { state = .idle }
            return []
        case .idle where rate == 0: return []
        case .idle, .playing, .stopped:
            state = .playing(rate: rate)
            return []
        }
    }

    /// Whether the player stopped, and no request was reported.
    package var hasStopped: Bool { if case .stopped = state { true } else { false } }

    /// Handles AVFoundation's notification of a stall.
    package mutating func stalled() -> [Action] {
        switch state {
        case .playing(let rate), .stopped(let rate): wait(rate)
        case .idle, .waiting: []
        }
    }

    private mutating func wait(_ rate: Float) -> [Action] {
        state = .waiting(rate: rate)
        return [.wait(rate: rate)]
    }

    /// Handles enough bytes in the buffer.
    ///
    /// - Parameter isPlaying: Whether the player plays again by itself.
    package mutating func bytesCame(isPlaying: Bool) -> [Action] {
        guard case .waiting(let rate) = state else { return [] }
        state = .playing(rate: rate)
        return isPlaying ? [.stopWaiting] : [.stopWaiting, .play(rate: rate)]
    }

    /// Handles a loss of the audio: an interruption begins, or the device that played is gone.
    ///
    /// The system pauses a player that plays. It may not see one that waits, for its first bytes or
    /// after a seek or a stall. Such a player would start by itself later, so it is paused here.
    ///
    /// - Parameter hasItem: Whether the player has an item. A rate that is set without one would
    ///   start the next.
    package mutating func audioLost(hasItem: Bool) -> [Action] {
        defer { state = .idle }
        switch state {
        case .waiting: return [.stopWaiting, .pause]
        case .playing, .stopped: return [.pause]
        case .idle: return hasItem ? [] : [.pause]
        }
    }

    /// Handles the end or the failure of the item.
    package mutating func ended() -> [Action] {
        defer { state = .idle }
        return isWaiting ? [.stopWaiting] : []
    }
}
