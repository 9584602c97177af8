#if !os(watchOS)
import Dispatch
package import Foundation
public import Spool
import SpoolCore
import SpoolSystem

/// Follows an app to the background and back, for one cache.
///
/// When the app goes to the background and no player is loading, everything is made durable and every lock on the store is let go of: a
/// process that is suspended with a lock in a shared container is ended by its system. While a player is loading, as an app with
/// background audio does, the cache stays open: what is stored becomes durable every few seconds anyway. When the app is back, the cache
/// takes its locks again, and connections that died meanwhile are tried anew, inside the same loading requests.
///
/// Ends when it is let go of. Safe to use from any thread.
public final class AppLifecycle: Sendable {
    private let center: LifecycleCenter

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

    /// Asks the system not to suspend the process before the answer is called.
    private static func keepAwake() -> @Sendable () -> Void {
        #if os(iOS) || os(tvOS) || os(visionOS)
        // The system suspends the process when this block returns, or when its time is up (`isExpired`).
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

/// Where an app's coming and going is told.
package struct LifecycleCenter: Sendable {
    let tokens: NoticeTokens
    let background: Notification.Name
    let foreground: Notification.Name

    /// The names are those of UIKit's notifications, written out: an app extension has no application to ask.
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
    /// Follows the app to the background and back for as long as the result is kept. On macOS, where apps are not suspended, it hears nothing.
    public func followAppLifecycle() -> AppLifecycle {
        AppLifecycle(cache: self, center: LifecycleCenter())
    }
}
#endif
