/// The state that the players of one cache share. `SpoolAVFoundation` has the implementation, and
/// the cache keeps one for as long as it lives.
package protocol PlayerDoor: AnyObject, Sendable {
    /// Ends everything that holds the cache, before the cache closes. Not called on a thread of the
    /// cache.
    func cacheCloses()
}
