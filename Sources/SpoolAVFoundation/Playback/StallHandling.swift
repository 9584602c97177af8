/// The part that handles stalls of a player's items.
public enum StallHandling: Hashable, Sendable {
    /// `PlaybackObserver`: the player does not wait to avoid stalls while an item of the cache
    /// plays, and resumes after a stall that AVFoundation reported, unless the app set a rate
    /// meanwhile.
    case observer
    /// AVPlayer: `automaticallyWaitsToMinimizeStalling` keeps the app's value, and the observer
    /// resumes nothing.
    case system
}
