/// Why a reader ends without its bytes.
package enum ReadFailure: Error, Hashable, Sendable {
    /// The origin, or the way to it.
    case origin(OriginError)
    /// The reader may use stored bytes only, and these are not stored.
    case notStored
    /// The resource was removed from the cache while it was read.
    case removed
    /// The cache was closed.
    case closed
}
