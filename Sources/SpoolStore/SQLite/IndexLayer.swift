package import SpoolSystem

/// A file system layer of SQLite, registered under a unique name while the object lives.
///
/// It has no shared memory, so one connection uses it at a time. The connection is closed before
/// the layer is released.
package protocol IndexLayer: AnyObject {
    /// The name for opening a connection.
    var name: String { get }
}

/// Makes a layer on a file system.
///
/// Before iOS 18 the runtime has no metadata for an optional function with typed throws.
package struct IndexLayerMaker: Sendable {
    let make: @Sendable (any FileSystem, any RandomSource) throws(StoreError) -> any IndexLayer

    /// Creates a maker that calls `make`.
    package init(_ make: @escaping @Sendable (any FileSystem, any RandomSource) throws(StoreError) -> any IndexLayer) {
        self.make = make
    }
}
