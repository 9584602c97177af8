public import Foundation
package import SpoolSystem

/// Timed media.
///
/// The double has no media. An asset is the part of an item on which loading can be cancelled.
/// Not `Sendable`, as in the SDK. Only ``AVURLAsset`` is.
open class AVAsset: NSObject, NSCopying, AVAsynchronousKeyValueLoading {
    /// The objects that are associated with this asset.
    package let associatedObjects = AssociatedObjects()

    /// Unavailable in the real class.
    package override init() { super.init() }

    /// Ends all loading of this asset. Items of it fail when they are used again.
    open func cancelLoading() {}

    /// Loads the group of a characteristic, and passes it to the handler, on any thread.
    open func loadMediaSelectionGroup(
        for mediaCharacteristic: AVMediaCharacteristic,
        completionHandler: @escaping @Sendable (AVMediaSelectionGroup?, (any Error)?) -> Void
    ) {
        completionHandler(simulatedGroups.withLock { $0[mediaCharacteristic] }, nil)
    }

    /// The duration for ``load(_:)``, once a simulated player has it.
    package let simulatedDuration = Locked(CMTime.indefinite)
    /// The groups of options, which a test sets.
    package let simulatedGroups = Locked<[AVMediaCharacteristic: AVMediaSelectionGroup]>([:])
    /// Whether `cancelLoading()` was called.
    package let isLoadingCancelled = Locked(false)

    /// Returns the asset itself, because it does not change. Subclasses may differ.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

/// An object with properties that are loaded when they are needed.
public protocol AVAsynchronousKeyValueLoading: NSObjectProtocol {}

extension AVAsynchronousKeyValueLoading {
    /// Returns the value of a property. The double has two.
    public func load<Value>(_ property: AVAsyncProperty<Self, Value>) async throws -> Value { property.value(self) }
}

/// A property of an asset that is loaded when it is needed.
public class AVPartialAsyncProperty<Root: AnyObject>: @unchecked Sendable {
    // Safe to share: subclasses have constants only.
    init() {}
}

/// The same, with the type of the property's value.
public final class AVAsyncProperty<Root: AnyObject, Value>: AVPartialAsyncProperty<Root>, @unchecked Sendable {
    // Safe to share: the closure reads values behind locks.
    let value: (Root) -> Value

    init(_ value: @escaping (Root) -> Value) {
        self.value = value
        super.init()
    }
}

extension AVPartialAsyncProperty where Root: AVAsset {
    /// The duration of the asset.
    public static var duration: AVAsyncProperty<Root, CMTime> {
        AVAsyncProperty<Root, CMTime> { asset in asset.simulatedDuration.withLock { $0 } }
    }

    /// Whether the asset plays. In the double, each asset does.
    public static var isPlayable: AVAsyncProperty<Root, Bool> { AVAsyncProperty<Root, Bool> { _ in true } }
}
