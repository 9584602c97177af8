import SpoolCore
import SpoolSystem

/// The time of the last use of one resource, in memory until it is entered into the index.
///
/// A use after the first since the last `take()` costs one look at the clock. The first one also
/// queues this record in the committer.
final class AccessRecorder: Sendable {
    let key: ResourceKey
    /// The time of the newest use since the last `take()`, or `unused`.
    private let time = SharedNumber(AccessRecorder.unused)

    /// A moment that no clock has.
    private static let unused = Int64.min

    init(_ key: ResourceKey) { self.key = key }

    /// Stores the time of a use.
    ///
    /// - Returns: Whether this is the first use since the last `take()`.
    func isFirstUse(at time: Timestamp) -> Bool { self.time.exchange(with: time.nanoseconds) == Self.unused }

    /// Returns the time of the newest use, and begins anew.
    func take() -> Timestamp { Timestamp(nanoseconds: time.exchange(with: Self.unused)) }
}
