/// How far fetches run ahead of readers.
///
/// Set for a cache, and optionally for one reader. A change takes effect at the next decision.
public enum FetchPolicy: Hashable, Sendable {
    /// Fetches while there are readers: at most the read-ahead window beyond the furthest reader,
    /// and never beyond the requested range. Stops when the last reader leaves. The default.
    case whilePlaying
    /// Keeps `bytes` beyond the furthest reader stored, even when that reader pauses or leaves, and
    /// then stops.
    case readAhead(bytes: Int64)
    /// Fetches all missing bytes of the resource, even after the last reader has left.
    case wholeResource
}
