#if !os(watchOS)
package import Dispatch
package import SpoolSystem

/// Where the loader of one asset works: the serial queue that AVFoundation calls it on, and the same queue as a mailbox.
///
/// Never the main queue: a player's own property access may block the main thread until bytes come.
package struct LoaderQueue: Sendable {
    package let queue: DispatchQueue
    package let mailbox: any Mailbox

    /// - Parameter mailbox: another mailbox than the queue's, for simulations.
    package init(queue: DispatchQueue, mailbox: (any Mailbox)? = nil) {
        self.queue = queue
        self.mailbox = mailbox ?? DispatchMailbox(queue)
    }

    /// A queue of its own for each asset: one that waits for a disk holds up no other.
    package static func make() -> LoaderQueue {
        LoaderQueue(queue: DispatchQueue(label: "spool.asset", qos: .userInitiated))
    }
}

/// A serial dispatch queue as a mailbox.
package final class DispatchMailbox: Mailbox {
    private let queue: DispatchQueue

    package init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    package func post(_ job: @escaping @Sendable () -> Void) {
        queue.async(execute: job)
    }
}

/// Carries an object that its framework does not call Sendable to the one queue that uses it.
struct Handed<Value>: @unchecked Sendable {
    // Safe: whoever hands it over does not touch it afterwards.
    let value: Value

    init(_ value: Value) { self.value = value }
}
#endif
