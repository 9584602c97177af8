/// Decides when the store of a cache is released and taken again, while its app comes and goes.
///
/// ```
/// active ◄──► leaving ──► away ──► suspending ──► suspended
///    ▲            (a return leads from each state to `active`, by `returning` while it suspends,
///                  and a use to `away`, by `reusing` while it suspends)
/// ```
///
/// A value without clock, notifications and store.
package struct AppLifecycleMachine: Hashable, Sendable {
    /// The states.
    package enum State: Hashable, Sendable {
        /// The app is in the foreground.
        case active
        /// The app is about to leave the foreground, and has asked for time in the background.
        case leaving
        /// The app is in the background, with its locks. The store stays open for fetches ahead of
        /// players at this many further looks.
        case away(looks: Int)
        /// The app is in the background, and its store is being released.
        case suspending
        /// The app is in the background, and holds no lock.
        case suspended
        /// The app is back while its store is still being released.
        case returning
        /// The app uses the cache in the background while its store is still being released.
        case reusing
    }

    /// The work for the shell.
    package enum Action: Hashable, Sendable {
        /// Asks the system for time in the background, in place of the time that it granted before.
        case askForTime
        /// Gives back the rest of the granted time.
        case endTime
        /// Passes running downloads to the system. It starts only tasks promptly that an app gives
        /// it in the foreground.
        case handOver
        /// Releases the store, and reports `released`.
        case suspend
        /// Takes the store again.
        case resume
        /// Checks the listener of the loopback endpoint, which may have died in a suspension.
        case checkListener
        /// Retries broken fetches at once.
        case retry
        /// Reports `looked` after a second.
        case look
        /// Reports `ranOn` after some seconds.
        case lookForPlayback
    }

    /// The present state.
    package private(set) var state = State.active

    /// The seconds in the background for which a preload keeps the store open.
    package static let secondsForPreloads = 30

    /// Creates the machine of an app in the foreground.
    package init() {}

    /// The app is about to leave the foreground, or another app or a system view lies above it.
    package mutating func resigned() -> [Action] {
        guard state == .active else { return [] }
        state = .leaving
        return [.askForTime, .handOver]
    }

    /// The app is active, perhaps without having been away.
    package mutating func becameActive() -> [Action] {
        guard state == .leaving else { return [] }
        state = .active
        return [.endTime]
    }

    /// The app is in the background.
    ///
    /// - Parameters:
    ///   - isInUse: Whether a player plays, or a download runs.
    ///   - fetchesAhead: Whether a preload fetches bytes.
    package mutating func entered(isInUse: Bool, fetchesAhead: Bool) -> [Action] {
        switch state {
        case .active, .leaving:
            let time: [Action] = state == .active ? [.askForTime] : []
            state = .away(looks: Self.secondsForPreloads)
            return time + looked(isInUse: isInUse, fetchesAhead: fetchesAhead)
        case .returning:
            state = .suspending
            return []
        case .away, .suspending, .suspended, .reusing: return []
        }
    }

    /// A look at the fetches of an app in the background.
    package mutating func looked(isInUse: Bool, fetchesAhead: Bool) -> [Action] {
        guard case .away(let looks) = state else { return [] }
        if fetchesAhead, looks > 0 {
            state = .away(looks: looks - 1)
            return [.look]
        }
        state = .away(looks: 0)
        return isInUse ? [] : suspend()
    }

    /// No player plays and no download runs any more.
    package mutating func becameIdle(fetchesAhead: Bool) -> [Action] {
        if state == .reusing { state = .suspending }
        guard case .away(let looks) = state, looks == 0 || !fetchesAhead else { return [] }
        return suspend()
    }

    /// The granted time is over. The store is released, whatever runs: the system suspends the
    /// process soon, and ends a process with a lock in a shared container.
    package mutating func expired() -> [Action] {
        switch state {
        case .away: return suspend()
        case .leaving:
            state = .active
            return [.endTime]
        case .reusing: state = .suspending
        case .active, .suspending, .suspended, .returning: break
        }
        return []
    }

    /// The app plays, for example by the lock screen, or stores a file of the system.
    package mutating func used() -> [Action] {
        if state == .suspending { state = .reusing }
        guard state == .suspended else { return [] }
        state = .away(looks: 0)
        // The listener may have died in a suspension. A live one costs one look.
        return [.checkListener, .askForTime, .resume]
    }

    /// The system woke or launched the app in the background, without a notification.
    package mutating func woken() -> [Action] {
        switch state {
        case .active, .leaving: state = .away(looks: 0)
        case .returning: state = .suspending
        case .away, .suspending, .suspended, .reusing: break
        }
        return [.checkListener, .askForTime]
    }

    /// The app enters the foreground.
    package mutating func returned() -> [Action] {
        defer { state = [.suspending, .reusing, .returning].contains(state) ? .returning : .active }
        switch state {
        // A suspension in progress needs the rest of its time.
        case .suspending, .returning, .reusing: return [.checkListener, .retry]
        case .suspended: return [.endTime, .checkListener, .retry, .resume]
        case .active, .leaving, .away: return [.endTime, .checkListener, .retry]
        }
    }

    /// The store is released.
    package mutating func released() -> [Action] {
        switch state {
        case .returning:
            state = .active
            return [.endTime, .resume]
        case .suspending:
            state = .suspended
            return [.endTime, .lookForPlayback]
        case .reusing:
            state = .away(looks: 0)
            return [.askForTime, .resume]
        case .active, .leaving, .away, .suspended: return []
        }
    }

    /// The process still runs some seconds after its store was released. So it plays.
    package mutating func ranOn(isInUse: Bool) -> [Action] {
        guard state == .suspended, isInUse else { return [] }
        state = .away(looks: 0)
        return [.askForTime, .resume]
    }

    private mutating func suspend() -> [Action] {
        state = .suspending
        return [.suspend]
    }
}
