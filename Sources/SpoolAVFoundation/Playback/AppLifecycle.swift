#if !os(watchOS)
import Dispatch
package import Foundation
public import Spool
import SpoolCore
import SpoolSystem

/// Follows an app to the background and back, for one cache.
///
/// When the app goes to the background and no player is loading, the cache makes everything durable
/// and releases every lock on the store. The system ends a process that is suspended with a lock in
/// a shared container. While a player is loading, as in an app with background audio, the cache
/// stays open. Stored bytes become durable every few seconds in any case. When the app is back, the
/// cache takes its locks again. Connections that died are retried within the same loading requests.
///
/// Following ends when this object is released. Safe to use from any thread.
public final class AppLifecycle: Sendable {
    private let center: LifecycleCenter

    /// Starts to follow the notifications of `center`.
    package init(cache: MediaCache, center: LifecycleCenter) {
        self.center = center
        let door = cache.attachments.object(DoorState.self, make: DoorState.init)
        center.tokens.add(center.background, of: nil) { [weak cache] _ in
            guard let cache, !door.isAnyoneLoading else { return }
            let finished = Self.keepAwake()
            cache.suspend { result in
                if case .failure(let error) = result { cache.record(.storeTrouble("going to the background: \(error.message)")) }
                finished()
            }
        }
        center.tokens.add(center.foreground, of: nil) { [weak cache] _ in
            guard let cache else { return }
            cache.resume { result in
                if case .failure(let error) = result { cache.record(.storeTrouble("coming back: \(error.message)")) }
                door.tryAgain()
            }
        }
    }

    /// Asks the system not to suspend the process before the returned closure is called.
    private static func keepAwake() -> @Sendable () -> Void {
        #if os(iOS) || os(tvOS) || os(visionOS)
        // The system suspends the process when this block returns, or when its time is up
        // (`isExpired`).
        let isDone = DispatchSemaphore(value: 0)
        ProcessInfo.processInfo.performExpiringActivity(withReason: "making stored media durable") { isExpired in
            if isExpired { isDone.signal() } else { isDone.wait() }
        }
        return { isDone.signal() }
        #else
        return {}
        #endif
    }
}

/// The notifications of an app's lifecycle.
package struct LifecycleCenter: Sendable {
    let tokens: NoticeTokens
    let background: Notification.Name
    let foreground: Notification.Name

    /// The defaults are the names of UIKit's notifications, written out because an app extension
    /// has no application object.
    package init(
        center: NotificationCenter = .default, background: String = "UIApplicationDidEnterBackgroundNotification",
        foreground: String = "UIApplicationWillEnterForegroundNotification"
    ) {
        tokens = NoticeTokens(center: center)
        self.background = Notification.Name(background)
        self.foreground = Notification.Name(foreground)
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
