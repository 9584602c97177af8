public import Foundation

/// Timed media.
///
/// The double knows no media: an asset is what an item is made of, and what loading is cancelled on.
open class AVAsset: NSObject, NSCopying, @unchecked Sendable {
    // Safe to share: nothing changes after the initialiser, and the table of associated objects has a lock.
    package let associatedObjects = AssociatedObjects()

    /// Unavailable in the real class.
    package override init() { super.init() }

    /// Ends all loading of this asset.
    open func cancelLoading() {}

    /// An asset does not change, so it is its own copy unless its class says otherwise.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}
