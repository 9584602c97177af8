import SpoolSystem

/// The state that the players of one cache share. `SpoolAVFoundation` has the implementation, and
/// the cache keeps one for as long as it lives.
package protocol PlayerDoor: AnyObject, Sendable {
    /// Ends everything that holds the cache, before the cache closes. Not called on a thread of the
    /// cache.
    func cacheCloses()
    /// Sends players that wait for their first answer to the original, if the cache is bypassed
    /// now. Called on any thread.
    func bypassChanged()
}

/// Holds the state that the players of one cache share.
final class PlayerDoorPlace: Sendable {
    private let kept = Locked<(any PlayerDoor)?>(nil)

    /// The state, or nil before it was made.
    var current: (any PlayerDoor)? { kept.withLock { $0 } }

    /// Returns the state, and makes it at the first call.
    func door<Door: PlayerDoor>(make: () -> Door) -> Door {
        // Made outside the lock. A door that loses the race is released.
        if let existing = kept.withLock({ $0 as? Door }) { return existing }
        let made = make()
        return kept.withLock { door in
            if let raced = door as? Door { return raced }
            door = made
            return made
        }
    }
}
