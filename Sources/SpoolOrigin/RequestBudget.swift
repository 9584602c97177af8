internal import SpoolSystem

/// The number of requests that one need for bytes may cause before a status is passed on.
///
/// Several layers repeat a request, each for a reason of its own: it is late, it was refused in
/// another form than the client's, the app has new credentials, another connection was in its way.
/// They share this number, so that their repetitions do not multiply. Redirects do not count.
package final class RequestBudget: Hashable, Sendable {
    /// The most requests: the first one, and two repetitions.
    package static let requests = 3
    private let taken = Locked(1)

    /// Creates the budget of a request that is sent once.
    package init() {}

    /// Counts another request. Returns false if it must not be sent.
    package func allowsAnother() -> Bool {
        taken.withLock { taken in
            guard taken < Self.requests else { return false }
            taken += 1
            return true
        }
    }

    /// Whether both are the same budget.
    package static func == (a: RequestBudget, b: RequestBudget) -> Bool { a === b }

    /// Hashes the identity.
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
