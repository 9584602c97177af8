#if !os(watchOS)
package import Dispatch
package import SpoolSystem

/// The serial queue on which AVFoundation calls the loader of one asset, and the same queue as a
/// mailbox.
///
/// It is never the main queue, because a player's own property access may block the main thread
/// until bytes come.
package struct LoaderQueue: Sendable {
    /// The serial queue.
    package let queue: DispatchQueue
    /// The mailbox that posts to the queue.
    package let mailbox: any Mailbox

    /// Whether the mailbox is that of the queue, as outside simulations.
    var isReal: Bool { mailbox is DispatchMailbox }

    /// Creates the pair.
    ///
    /// - Parameter mailbox: A mailbox other than the queue's, for simulations.
    package init(queue: DispatchQueue, mailbox: (any Mailbox)? = nil) {
        self.queue = queue
        self.mailbox = mailbox ?? DispatchMailbox(queue)
    }

    /// Creates a queue for one asset, so that an asset that waits for a disk delays no other.
    package static func make() -> LoaderQueue {
        LoaderQueue(queue: DispatchQueue(label: "spool.asset", qos: .userInitiated))
    }
}

/// A serial dispatch queue as a mailbox.
package final class DispatchMailbox: Mailbox {
    private let queue: DispatchQueue

    /// Creates a mailbox for a serial queue.
    package init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    /// Posts a job to the queue.
    package func post(_ job: @escaping @Sendable () -> Void) {
        queue.async(execute: job)
    }
}

/// Carries an object of a framework, which is not `Sendable`, to the one queue that uses it.
struct Handed<Value>: @unchecked Sendable {
    // Safe: the sender does not use the object afterwards.
    let value: Value

    init(_ value: Value) { self.value = value }
}
#endif
