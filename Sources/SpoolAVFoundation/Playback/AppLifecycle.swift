#if !os(watchOS)
import Dispatch
package import Foundation
package import Spool
import SpoolCore
import SpoolSystem

/// Follows an app to the background and back, for one cache, as `AppLifecycleMachine` decides.
///
/// The system ends a process that it suspends with a lock in a shared container. So the cache makes
/// everything durable and releases every lock on the store before the process can be suspended:
///
/// - when the app enters the background, unless it plays or downloads;
/// - when it ceases to do so in the background, for example by a pause on the lock screen;
/// - when the system ends the time that it grants in the background.
///
/// An app that plays in the background has no such end and keeps its locks. A player with a
/// `PlaybackController` counts as playing also in a picture (Picture in Picture) and with sound
/// only. Without a controller, a player with an open request counts. A preload counts for half a
/// minute.
///
/// Open requests and downloads wait meanwhile, and go on when the app is back or plays in the
/// background, for example by the lock screen.
///
/// Following ends when this object is released. Safe to use from any thread.
package final class AppLifecycle: Sendable {
    /// The time after which a process that still runs was not suspended. It then plays.
    private static let stillRunning: Nanoseconds = .seconds(5)

    private struct State {
        weak var cache: MediaCache?
        weak var use: CacheUse?
        var machine = AppLifecycleMachine()
        /// Ends the time in the background that the system grants.
        var endTime: (@Sendable () -> Void)?
    }

    private let state: Locked<State>
    private let center: LifecycleCenter

    /// Starts to follow the notifications of `center`.
    package convenience init(cache: MediaCache, center: LifecycleCenter) {
        self.init(cache: cache, use: cache.playerDoor(make: DoorState.init).use, center: center)
    }

    init(cache: MediaCache, use: CacheUse, center: LifecycleCenter) {
        state = Locked(State(cache: cache, use: use))
        self.center = center
        follow(use)
    }

    deinit {
        use?.follow(nil)
    }

    private func follow(_ use: CacheUse) {
        center.add(center.resigned) { [weak self] in self?.run { $0.resigned() } }
        center.add(center.active) { [weak self] in self?.run { $0.becameActive() } }
        center.add(center.background) { [weak self] in self?.look { $0.entered(isInUse: $1, fetchesAhead: $2) } }
        center.add(center.foreground) { [weak self] in self?.run { $0.returned() } }
        use.follow(
            CacheUse.Follower(
                becameIdle: { [weak self] in self?.look { machine, _, fetchesAhead in machine.becameIdle(fetchesAhead: fetchesAhead) } },
                used: { [weak self] in self?.run { $0.used() } }, woken: { [weak self] in self?.run { $0.woken() } }))
    }

    private var cache: MediaCache? { state.withLock { $0.cache } }
    private var use: CacheUse? { state.withLock { $0.use } }

    private func run(_ event: (inout AppLifecycleMachine) -> [AppLifecycleMachine.Action]) {
        // A later hold than the one of this moment stays: the app went to the background again.
        let (actions, hold) = state.withLock { (event(&$0.machine), $0.use?.holdNumber ?? 0) }
        for action in actions { perform(action, hold) }
    }

    /// Reports an event together with the present use of the cache.
    private func look(_ event: (inout AppLifecycleMachine, _ isInUse: Bool, _ fetchesAhead: Bool) -> [AppLifecycleMachine.Action]) {
        let (isInUse, fetchesAhead) = (use?.isInUse == true, cache?.fetchesAhead == true)
        run { event(&$0, isInUse, fetchesAhead) }
    }

    private func perform(_ action: AppLifecycleMachine.Action, _ hold: Int) {
        switch action {
        case .askForTime: replaceTime(with: center.time { [weak self] in self?.run { $0.expired() } })
        case .endTime: replaceTime(with: nil)
        case .handOver: use?.handOverSoon()
        case .suspend: suspend()
        case .resume: resume(hold)
        case .checkListener: cache?.loopback?.appReturned()
        case .retry: use?.tryAgain()
        case .look: later(.seconds(1)) { $0.look { $0.looked(isInUse: $1, fetchesAhead: $2) } }
        case .lookForPlayback:
            later(Self.stillRunning) { $0.look { machine, isInUse, _ in machine.ranOn(isInUse: isInUse) } }
        }
    }

    private func replaceTime(with end: (@Sendable () -> Void)?) {
        let old = state.withLock { exchange(&$0.endTime, with: end) }
        old?()
    }

    private func later(_ time: Nanoseconds, _ job: @escaping @Sendable (AppLifecycle) -> Void) {
        guard let environment = cache?.environment else { return }
        _ = environment.time.after(time, on: environment.control) { [weak self] in
            if let self { job(self) }
        }
    }

    private func suspend() {
        guard let cache, let use else { return }
        use.hold { [weak self] in
            cache.suspend { [weak self] result in
                if case .failure(let error) = result { cache.record(.storeTrouble("going to the background: \(error.message)")) }
                use.handOver()
                self?.run { $0.released() }
            }
        }
    }

    private func resume(_ hold: Int) {
        guard let cache, let use else { return }
        cache.resume { result in
            if case .failure(let error) = result { cache.record(.storeTrouble("coming back: \(error.message)")) }
            use.release(hold: hold)
        }
    }
}

/// The notifications of an app's lifecycle, and the time that the system grants in the background.
package struct LifecycleCenter: Sendable {
    private let tokens: NoticeTokens
    let resigned: Notification.Name
    let active: Notification.Name
    let background: Notification.Name
    let foreground: Notification.Name
    /// Asks for time. Calls `expired` when the time ends first. The result ends the time.
    let time: @Sendable (_ expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void

    /// The defaults are the names of UIKit's notifications, written out because an app extension
    /// has no application object.
    package init(
        center: NotificationCenter = .default, resigned: String = "UIApplicationWillResignActiveNotification",
        active: String = "UIApplicationDidBecomeActiveNotification", background: String = "UIApplicationDidEnterBackgroundNotification",
        foreground: String = "UIApplicationWillEnterForegroundNotification",
        time: @escaping @Sendable (_ expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void = Self.systemTime
    ) {
        tokens = NoticeTokens(center: center)
        self.resigned = Notification.Name(resigned)
        self.active = Notification.Name(active)
        self.background = Notification.Name(background)
        self.foreground = Notification.Name(foreground)
        self.time = time
    }

    fileprivate func add(_ name: Notification.Name, _ job: @escaping @Sendable () -> Void) {
        tokens.add(name, of: nil) { _ in job() }
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
#endif
