package import SpoolCore
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
    /// Notes that a transfer of the list of downloads begins. Called on the control lane.
    ///
    /// - Returns: Whether the transfer waits for `release`, because the system fetches its bytes.
    func downloadBegan(_ transfer: ListedTransfer) -> Bool
    /// Notes that the transfer of a resource has ended. Called on any thread.
    func downloadEnded(_ key: ResourceKey)
}

/// A running transfer of the list of downloads, as a player door sees it.
package struct ListedTransfer: Sendable {
    /// The key of the resource, or of the manifest of a presentation.
    package let key: ResourceKey
    /// The URL that the bytes come from.
    package let url: String
    /// The networks that its requests may use, or nil for those of the network policy.
    package let access: NetworkAccess?
    /// Returns the facts that a request for its missing bytes needs, or nil if the system can't have
    /// it.
    package let rest: @Sendable () -> MissingBytes?
    /// Stops reading, with the bytes that arrived. The entry of the list still runs.
    package let hold: @Sendable () -> Void
    /// Ends a hold.
    package let release: @Sendable () -> Void
}

/// The facts that a request for the missing bytes of a resource needs.
package struct MissingBytes: Sendable {
    /// The fields of its requests, without those for ranges and conditions.
    package var fields: HTTPFields
    /// The version, or nil if it is unknown.
    package var representation: Representation?
    /// The bytes of the version that are stored.
    package var stored: ByteRangeSet
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
