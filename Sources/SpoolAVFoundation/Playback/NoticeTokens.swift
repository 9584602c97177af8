import Foundation

/// Registrations at a notification centre, which end with this object.
final class NoticeTokens: @unchecked Sendable {
    // Safe to share: `tokens` is filled by whoever made it before anybody else has it, and read at the end only.
    private let center: NotificationCenter
    private var tokens: [any NSObjectProtocol] = []

    init(center: NotificationCenter = .default) {
        self.center = center
    }

    deinit {
        for token in tokens { center.removeObserver(token) }
    }

    /// Calls `job` where the notification is posted, from any thread.
    func add(_ name: Notification.Name, of object: AnyObject?, then job: @escaping @Sendable (Notification) -> Void) {
        tokens.append(center.addObserver(forName: name, object: object, queue: nil, using: job))
    }
}
