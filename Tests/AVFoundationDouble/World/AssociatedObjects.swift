import Foundation
import SpoolSystem

/// The ownership of an associated object. The double retains all.
public enum objc_AssociationPolicy: UInt, Sendable {
    case OBJC_ASSOCIATION_ASSIGN = 0
    case OBJC_ASSOCIATION_RETAIN_NONATOMIC = 1
    case OBJC_ASSOCIATION_COPY_NONATOMIC = 3
    case OBJC_ASSOCIATION_RETAIN = 769
    case OBJC_ASSOCIATION_COPY = 771
}

/// Keeps `value` as long as `object`, which has to be an asset, a resource loader or a player here.
public func objc_setAssociatedObject(_ object: Any, _ key: UnsafeRawPointer, _ value: Any?, _ policy: objc_AssociationPolicy) {
    AssociatedObjects.of(object).set(value, UInt(bitPattern: key))
}

/// Returns the value that is associated with `object` by `key`.
public func objc_getAssociatedObject(_ object: Any, _ key: UnsafeRawPointer) -> Any? {
    AssociatedObjects.of(object).get(UInt(bitPattern: key))
}

/// Replaces a facility of the Objective-C runtime.
package final class AssociatedObjects: Sendable {
    private struct Entry: @unchecked Sendable {
        // Safe to share: it only holds the value, and its user restores the type.
        let value: Any
    }

    private let entries = Locked<[UInt: Entry]>([:])

    /// Makes an empty table.
    package init() {}

    fileprivate static func of(_ object: Any) -> AssociatedObjects {
        if let asset = object as? AVAsset { return asset.associatedObjects }
        if let loader = object as? AVAssetResourceLoader { return loader.associatedObjects }
        if let player = object as? AVPlayer { return player.associatedObjects }
        preconditionFailure("the double ties objects to assets, resource loaders and players only, not to \(type(of: object))")
    }

    fileprivate func set(_ value: Any?, _ key: UInt) {
        // The previous value is released outside the lock, because its deinitialiser may run code.
        let old = entries.withLock { entries in
            defer { entries[key] = value.map { Entry(value: $0) } }
            return entries[key]
        }
        withExtendedLifetime(old) {}
    }

    fileprivate func get(_ key: UInt) -> Any? {
        entries.withLock { $0[key]?.value }
    }
}
