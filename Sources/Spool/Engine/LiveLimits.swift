import SpoolSystem

/// The limits of an open store, which may change while it is open.
final class LiveLimits: Sendable {
    private let limits: Locked<StorageLimits>

    init(_ limits: StorageLimits) { self.limits = Locked(limits) }

    /// The limits at this moment.
    var current: StorageLimits { limits.withLock { $0 } }

    func set(_ new: StorageLimits) { limits.withLock { $0 = new } }
}
