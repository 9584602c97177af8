/// How far a fetch goes beyond what readers take.
///
/// Given for a cache and, where it differs, for one reader. Takes effect at the next decision.
public enum FetchPolicy: Hashable, Sendable {
    /// Fetch while somebody reads, at most the read-ahead window beyond the furthest reader and never beyond what was asked;
    /// stop when the last reader leaves. The default.
    case whilePlaying
    /// Keep `bytes` beyond the furthest reader stored, also when it pauses or leaves; then stop.
    case readAhead(bytes: Int64)
    /// Fetch what is missing of the whole resource, also after the last reader left.
    case wholeResource
}
