#if os(Linux)
import Spool
import SpoolSystem

/// The time that the system grants an app in the background.
final class GrantedTime: Sendable {
    private struct State {
        var running: [Int: @Sendable () -> Void] = [:]
        var count = 0
    }

    private let state = Locked(State())

    /// Begins an activity. Returns its end.
    func begin(_ expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let number = state.withLock { state in
            state.count += 1
            state.running[state.count] = expired
            return state.count
        }
        return { [weak self] in _ = self?.state.withLock { $0.running.removeValue(forKey: number) } }
    }

    /// Whether an activity runs, so that the system leaves the process awake.
    var isRunning: Bool { state.withLock { !$0.running.isEmpty } }

    /// Ends the time of every activity.
    func expire() {
        let expired = state.withLock { state in state.running.keys.sorted().compactMap { state.running[$0] } }
        for job in expired { job() }
    }
}

/// The lives in which the cache was bypassed, an item was rescued, and the breaker opened.
struct AppTurns {
    var bypasses = 0, rescues = 0, breakers = 0

    /// Adds a life, or a process of one.
    mutating func add(_ other: AppTurns) {
        bypasses += min(other.bypasses, 1)
        rescues += min(other.rescues, 1)
        breakers += min(other.breakers, 1)
    }
}

/// Counts the turns of one process by its events.
final class AppTurnLog: EventSink {
    private let turns = Locked(AppTurns())

    var now: AppTurns { turns.withLock { $0 } }

    func record(_ event: CacheEvent) {
        turns.withLock { turns in
            switch event {
            case .bypassChanged(isBypassed: true, let reason) where reason.hasPrefix("the app"): turns.bypasses += 1
            case .bypassChanged(isBypassed: true, _): turns.breakers += 1
            case .degradedToPassthrough(_, let reason) where reason.hasPrefix("rescued"): turns.rescues += 1
            default: break
            }
        }
    }
}

/// A loopback endpoint whose listener the system closes in suspension.
final class MortalListener: LoopbackEndpoint {
    private let alive = Locked(true)

    var isAlive: Bool { alive.withLock { $0 } }

    func url(for original: String) -> String? { nil }
    func die() { alive.withLock { $0 = false } }
    func appReturned() { alive.withLock { $0 = true } }
}
#endif
