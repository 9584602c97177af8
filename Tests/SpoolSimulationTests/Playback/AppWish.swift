#if os(Linux)
/// Whether a player may play: the last wish of the user, and the reasons of the system against it.
///
/// This is the rule that the lives compare the player with.
struct AppWish {
    private(set) var wantsPlay = false
    /// The reason for silence, in words.
    private(set) var reason = "the user did not press play yet"
    private(set) var isCalling = false
    private var resumesAfterCall = false

    var mayPlay: Bool { wantsPlay }

    mutating func played() { wantsPlay = true }

    mutating func paused() {
        (wantsPlay, reason) = (false, "the user paused")
        resumesAfterCall = false
    }

    /// The system paused the player, or would have.
    mutating func silenced(_ why: String) {
        guard wantsPlay else { return }
        (wantsPlay, reason) = (false, why)
    }

    mutating func callBegan() {
        isCalling = true
        resumesAfterCall = wantsPlay
        silenced("a call began")
    }

    /// Returns whether the app plays again.
    mutating func callEnded(shouldResume: Bool) -> Bool {
        isCalling = false
        return shouldResume && resumesAfterCall
    }
}
#endif
