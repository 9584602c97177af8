import SpoolCore

/// A place that was reserved for a new variant.
struct PendingVariant {
    /// The digest of the request for which it was reserved.
    var request: String
    /// When it was reserved.
    var since: MonotonicInstant
}
