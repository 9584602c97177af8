/// The part that handles stalls of a player's items.
public enum StallHandling: Hashable, Sendable {
    /// `PlaybackController`: the player does not wait to avoid stalls while an item of the cache
    /// plays, and resumes after a stall that AVFoundation reported, unless the app set a rate
    /// meanwhile.
    case controller
    /// AVPlayer: `automaticallyWaitsToMinimizeStalling` keeps the app's value, and the controller
    /// resumes nothing.
    case system
}
