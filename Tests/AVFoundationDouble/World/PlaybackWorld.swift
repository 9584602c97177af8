package import Dispatch
import Foundation
package import SpoolCore
package import SpoolSystem

/// The environment of the double: clocks, randomness, the queues of its calls, and the journal of
/// breaches.
///
/// In a simulation every queue is a mailbox of one seeded scheduler, and the queue of a delegate is
/// not used. Otherwise the queues are real ones.
package final class PlaybackWorld: Sendable {
    /// The clocks and timers.
    package let time: any TimeSource
    /// The source of randomness.
    package let random: any RandomSource
    /// The breaches of the contract so far.
    package let journal = ContractJournal()
    /// Whether the world is simulated.
    package let isSimulated: Bool
    /// The queue on which players notify their observers: the main queue.
    package let main: any Mailbox
    private let makeMailbox: @Sendable (String) -> any Mailbox
    private let suspendedTime = Locked<Nanoseconds>(0)

    /// Makes a simulated world. `mailbox` makes a mailbox by name.
    package init(
        time: any TimeSource, random: any RandomSource, main: any Mailbox, mailbox: @escaping @Sendable (String) -> any Mailbox
    ) {
        self.time = time
        self.random = random
        self.main = main
        isSimulated = true
        makeMailbox = mailbox
    }

    /// Makes a world of real threads.
    package init(time: any TimeSource, random: any RandomSource) {
        self.time = time
        self.random = random
        main = QueueMailbox(.main)
        isSimulated = false
        makeMailbox = { QueueMailbox(DispatchQueue(label: $0)) }
    }

    /// Returns a new mailbox or serial queue with a name.
    package func mailbox(_ name: String) -> any Mailbox { makeMailbox(name) }

    /// Notes that the system suspended the process for this time. Players wait no part of it for an
    /// answer.
    package func wasSuspended(for time: Nanoseconds) {
        suspendedTime.withLock { $0 += time }
    }

    /// The time that passed while the process ran.
    var runningTime: MonotonicInstant { time.now + -suspendedTime.withLock { $0 } }

    func delegateMailbox(for queue: DispatchQueue?) -> any Mailbox {
        if queue?.label == DispatchQueue.main.label { journal.note(.r10, "the delegate's queue is the main queue") }
        if isSimulated { return makeMailbox("delegate") }
        return queue.map { QueueMailbox($0) } ?? makeMailbox("delegate")
    }
}

/// A serial dispatch queue as a mailbox.
package final class QueueMailbox: Mailbox {
    private let queue: DispatchQueue

    /// Makes a mailbox that posts to a serial queue.
    package init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    /// Posts a job to the queue.
    package func post(_ job: @escaping @Sendable () -> Void) {
        queue.async(execute: job)
    }
}
