#if !os(watchOS)
import Dispatch
package import Foundation
public import Spool
import SpoolCore
import SpoolSystem

/// Follows an app to the background and back, for one cache.
///
/// The system ends a process that it suspends with a lock in a shared container. So the cache makes
/// everything durable and releases every lock on the store before the process can be suspended:
///
/// - when the app enters the background, unless it plays or downloads;
/// - when it ceases to do so in the background, for example by a pause on the lock screen;
/// - when the system ends the time that it grants in the background.
///
/// An app that plays in the background has no such end and keeps its locks. A player with a
/// `PlaybackObserver` counts as playing also in a picture (Picture in Picture) and with sound only.
/// Without an observer, a player with an open request counts.
///
/// Open requests and downloads wait meanwhile, and go on when the app is back or plays in the
/// background, for example by the lock screen. The cache then takes its locks again. At each of
/// these returns its loopback endpoint opens its listener again, which the system closes.
///
/// Following ends when this object is released. Safe to use from any thread.
public final class AppLifecycle: Sendable {
    private let follower: LifecycleFollower

    /// Starts to follow the notifications of `center`.
    package init(cache: MediaCache, center: LifecycleCenter) {
        follower = LifecycleFollower(cache: cache, center: center)
        follower.start()
    }
}

/// Suspends and resumes a cache by an app's states.
private final class LifecycleFollower: Sendable {
    /// The time after which a process that still runs was not suspended. It then plays.
    static let stillRunning: Nanoseconds = .seconds(5)

    private enum Phase {
        case running, suspending, suspended
    }

    private struct State {
        weak var cache: MediaCache?
        var isInBackground = false
        var phase = Phase.running
        /// Ends the time in the background that the system grants.
        var endTime: (@Sendable () -> Void)?
    }

    private let state: Locked<State>
    private let center: LifecycleCenter
    private let door: DoorState

    init(cache: MediaCache, center: LifecycleCenter) {
        state = Locked(State(cache: cache))
        self.center = center
        door = cache.playerDoor(make: DoorState.init)
    }

    deinit {
        door.onIdle(nil)
        door.onUse(nil)
        door.onWake(nil)
    }

    func start() {
        center.tokens.add(center.background, of: nil) { [weak self] _ in self?.entered() }
        center.tokens.add(center.foreground, of: nil) { [weak self] _ in self?.left() }
        door.onIdle { [weak self] in self?.suspend() }
        door.onUse { [weak self] in self?.playedInBackground() }
        door.onWake { [weak self] in self?.woken() }
    }

    private var cache: MediaCache? { state.withLock { $0.cache } }

    private func entered() {
        state.withLock { $0.isInBackground = true }
        keepAwake()
        if !door.isInUse { suspend() }
    }

    private func left() {
        let endTime = state.withLock { state in
            state.isInBackground = false
            // A suspension in progress needs the rest of its time.
            guard state.phase != .suspending else { return nil as (@Sendable () -> Void)? }
            defer { state.endTime = nil }
            return state.endTime
        }
        endTime?()
        cache?.loopback?.appReturned()
        door.tryAgain()
        resumeIfDue { !$0 }
    }

    /// Handles a wake-up for downloads. The system launches an app into the background for them
    /// without a notification.
    private func woken() {
        state.withLock { $0.isInBackground = true }
        cache?.loopback?.appReturned()
        keepAwake()
    }

    /// Asks the system for time, and suspends the cache when that ends.
    private func keepAwake() {
        let end = center.time { [weak self] in self?.suspend() }
        let old = state.withLock { state in
            defer { state.endTime = end }
            return state.endTime
        }
        old?()
    }

    /// Suspends the cache if the app is in the background.
    private func suspend() {
        let isDue = state.withLock { state in
            guard state.isInBackground, state.phase == .running else { return false }
            state.phase = .suspending
            return true
        }
        guard isDue, let cache else { return }
        door.hold { [weak self] in
            cache.suspend { [weak self] result in
                if case .failure(let error) = result { cache.record(.storeTrouble("going to the background: \(error.message)")) }
                self?.door.handOver()
                self?.suspended(cache)
            }
        }
    }

    private func suspended(_ cache: MediaCache) {
        let endTime = state.withLock { state in
            state.phase = .suspended
            defer { state.endTime = nil }
            return state.endTime
        }
        endTime?()
        // The app may have returned meanwhile.
        resumeIfDue { !$0 }
        _ = cache.environment.time.after(Self.stillRunning, on: cache.environment.control) { [weak self] in self?.lookAgain() }
    }

    /// A process that still runs although its time ended plays in the background.
    private func lookAgain() {
        guard door.isInUse else { return }
        if state.withLock({ $0.isInBackground && $0.phase == .suspended }) { keepAwake() }
        resumeIfDue { _ in true }
    }

    /// Resumes the cache for a player that starts in the background, for example by the lock
    /// screen.
    private func playedInBackground() {
        guard state.withLock({ $0.isInBackground && $0.phase == .suspended }) else { return }
        // The listener may have died in a suspension. A live one costs one look.
        cache?.loopback?.appReturned()
        keepAwake()
        resumeIfDue { _ in true }
    }

    private func resumeIfDue(_ condition: (_ isInBackground: Bool) -> Bool) {
        let door = door
        let hold = state.withLock { state -> Int? in
            guard state.phase == .suspended, condition(state.isInBackground) else { return nil }
            state.phase = .running
            return door.holdNumber
        }
        guard let hold, let cache else { return }
        cache.resume { result in
            if case .failure(let error) = result { cache.record(.storeTrouble("coming back: \(error.message)")) }
            door.release(hold: hold)
        }
    }
}

/// The notifications of an app's lifecycle, and the time that the system grants in the background.
package struct LifecycleCenter: Sendable {
    let tokens: NoticeTokens
    let background: Notification.Name
    let foreground: Notification.Name
    /// Asks for time. Calls `expired` when the time ends first. The result ends the time.
    let time: @Sendable (_ expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void

    /// The defaults are the names of UIKit's notifications, written out because an app extension
    /// has no application object.
    package init(
        center: NotificationCenter = .default, background: String = "UIApplicationDidEnterBackgroundNotification",
        foreground: String = "UIApplicationWillEnterForegroundNotification",
        time: @escaping @Sendable (_ expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void = Self.systemTime
    ) {
        tokens = NoticeTokens(center: center)
        self.background = Notification.Name(background)
        self.foreground = Notification.Name(foreground)
        self.time = time
    }

    /// Asks the system not to suspend the process.
    package static let systemTime: @Sendable (_ expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void = { expired in
        #if os(iOS) || os(tvOS) || os(visionOS)
        // The system may suspend the process when this block returns. It calls the block a second
        // time when the time is up.
        let isDone = DispatchSemaphore(value: 0)
        ProcessInfo.processInfo.performExpiringActivity(withReason: "making stored media durable") { isExpired in
            isExpired ? expired() : isDone.wait()
        }
        return { isDone.signal() }
        #else
        return {}
        #endif
    }
}

extension MediaCache {
    /// Follows the app to the background and back for as long as the result is kept. It has no
    /// effect on macOS, where apps are not suspended.
    public func followAppLifecycle() -> AppLifecycle {
        AppLifecycle(cache: self, center: LifecycleCenter())
    }
}
#endif
