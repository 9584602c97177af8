/// The urgency of a reader's bytes when origin requests have to queue.
///
/// A resource is as urgent as its most urgent reader. A more urgent request ends a running one only
/// if no reader needs that one at the moment. Two slots of each host are kept for playback, and
/// less urgent requests pause while a player waits for bytes.
public enum ReadPriority: Int, Comparable, Sendable {
    /// No reader waits: a download, or bytes that a policy fetches after its readers have left.
    case prefetch
    /// A reader will need the bytes soon: the next item of a queue.
    case upcoming
    /// A player waits for the bytes. The default.
    case playing

    /// Whether the first priority is less urgent than the second.
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
