/// Decides when rescues mean that the cache itself is at fault.
///
/// It counts only rescues after which the original became ready. An original that fails too shows a
/// fault of the network or the media, and clears the count.
package struct RescueBreaker: Hashable, Sendable {
    /// The number of rescues in a process that open the breaker.
    package static let mostRescues = 3
    /// The number of latest items that are looked at, and the number of rescues among them that
    /// open the breaker.
    package static let (items, mostAmongItems) = (10, 2)

    /// Whether the breaker has opened. It stays open until the process ends.
    package private(set) var isOpen = false
    private var rescues = 0
    /// Whether each of the latest items was rescued, the oldest one first.
    private var latest: [Bool] = []

    /// Creates a breaker without rescues.
    package init() {}

    /// Notes that an item of the cache became ready by itself.
    package mutating func itemOpened() { note(false) }

    /// Notes that the original of a rescued item became ready.
    ///
    /// - Returns: Whether the breaker opens now.
    package mutating func originalPlayed() -> Bool {
        rescues += 1
        note(true)
        guard !isOpen, rescues >= Self.mostRescues || latest.count(where: { $0 }) >= Self.mostAmongItems else { return false }
        isOpen = true
        return true
    }

    /// Notes that the original of a rescued item failed as well.
    package mutating func originalFailed() { (rescues, latest) = (0, []) }

    private mutating func note(_ wasRescued: Bool) { latest = (latest + [wasRescued]).suffix(Self.items) }
}
