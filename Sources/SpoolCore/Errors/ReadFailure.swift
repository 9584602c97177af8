/// The reason why a reader ends without its bytes.
package enum ReadFailure: Error, Hashable, Sendable {
    /// The origin failed, or the way to it.
    case origin(OriginError)
    /// The bytes are not stored, and the reader may use stored bytes only.
    case notStored
    /// The resource was removed from the cache while it was read.
    case removed
    /// The cache was closed.
    case closed
}
