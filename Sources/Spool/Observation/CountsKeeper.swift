package import SpoolStore

/// Keeps the counts of a cache for longer than the cache is open.
package protocol CountsKeeper: AnyObject, Sendable {
    /// Keeps the growth of the counts. Called on the index lane: with access times, with durable
    /// points, and before the store is closed or suspended.
    ///
    /// - Parameter isLast: Whether the next call may never come.
    /// - Throws: The error of the store. The next call repeats what this one could not keep.
    func keep(_ counts: Statistics, isLast: Bool) throws(StoreError)

    /// Begins anew after the history in the store was erased. Called on the index lane.
    ///
    /// - Parameter counts: The counts up to now, which the next history does not contain.
    func forget(_ counts: Statistics)
}
