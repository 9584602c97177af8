public import Foundation

/// Timed media.
///
/// The double has no media. An asset is the part of an item on which loading can be cancelled.
open class AVAsset: NSObject, NSCopying, @unchecked Sendable {
    // Safe to share: nothing changes after the initialiser, and the table of associated objects has
    // a lock.
    /// The objects that are associated with this asset.
    package let associatedObjects = AssociatedObjects()

    /// Unavailable in the real class.
    package override init() { super.init() }

    /// Ends all loading of this asset.
    open func cancelLoading() {}

    /// Returns the asset itself, because it does not change. Subclasses may differ.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}
