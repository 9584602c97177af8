internal import SpoolSystem

/// Runs each job at once, on the thread that posts it.
package final class HandMailbox: Mailbox {
    /// Creates a mailbox.
    package init() {}

    package func post(_ job: @escaping @Sendable () -> Void) { job() }
}
