/// How urgent a reader's bytes are when origin requests have to queue.
///
/// A resource is as urgent as its most urgent reader. Running requests are not ended for more urgent ones, unless nobody needs them just now;
/// one slot of each host is kept for what plays.
public enum ReadPriority: Int, Comparable, Sendable {
    /// Nobody waits: a download, what a policy fetches after its readers have left.
    case prefetch
    /// Needed soon: the item that comes next in a queue.
    case upcoming
    /// Somebody waits. The default.
    case playing

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
