/// The state that the players of one cache share. `SpoolAVFoundation` has the implementation, and
/// the cache keeps one for as long as it lives.
package protocol PlayerDoor: AnyObject, Sendable {}
