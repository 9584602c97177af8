package import Dispatch
import Foundation
package import SpoolSystem

/// What stands around the double: clocks, chance, the queues on which it calls, and the journal of breaches.
///
/// In a simulation every queue is a mailbox of one seeded scheduler, and the queue that a delegate names is not used. Else the queues are
/// real ones.
package final class PlaybackWorld: Sendable {
    package let time: any TimeSource
    package let random: any RandomSource
    package let journal = ContractJournal()
    package let isSimulated: Bool
    /// Where players tell their observers about changes: the main queue.
    package let main: any Mailbox
    private let makeMailbox: @Sendable (String) -> any Mailbox

    /// A simulated world; `mailbox` makes one of its mailboxes by name.
    package init(
        time: any TimeSource, random: any RandomSource, main: any Mailbox, mailbox: @escaping @Sendable (String) -> any Mailbox
    ) {
        self.time = time
        self.random = random
        self.main = main
        isSimulated = true
        makeMailbox = mailbox
    }

    /// A world of real threads.
    package init(time: any TimeSource, random: any RandomSource) {
        self.time = time
        self.random = random
        main = QueueMailbox(.main)
        isSimulated = false
        makeMailbox = { QueueMailbox(DispatchQueue(label: $0)) }
    }

    /// A new mailbox, or serial queue, by name.
    package func mailbox(_ name: String) -> any Mailbox { makeMailbox(name) }

    func delegateMailbox(for queue: DispatchQueue?) -> any Mailbox {
        if queue?.label == DispatchQueue.main.label { journal.note(.r10, "the delegate's queue is the main queue") }
        if isSimulated { return makeMailbox("delegate") }
        return queue.map { QueueMailbox($0) } ?? makeMailbox("delegate")
    }
}

/// A dispatch queue as a mailbox; the queue is serial.
package final class QueueMailbox: Mailbox {
    private let queue: DispatchQueue

    package init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    package func post(_ job: @escaping @Sendable () -> Void) {
        queue.async(execute: job)
    }
}
