import Foundation

/// Registrations at a notification centre, which end with this object.
final class NoticeTokens: @unchecked Sendable {
    // Safe to share: the creator fills `tokens` before it shares the object, and only `deinit`
    // reads it.
    private let center: NotificationCenter
    private var tokens: [any NSObjectProtocol] = []

    init(center: NotificationCenter = .default) {
        self.center = center
    }

    deinit {
        for token in tokens { center.removeObserver(token) }
    }

    /// Calls `job` on the thread that posts the notification.
    func add(_ name: Notification.Name, of object: AnyObject?, then job: @escaping @Sendable (Notification) -> Void) {
        tokens.append(center.addObserver(forName: name, object: object, queue: nil, using: job))
    }
}
