// Keeps the bytes of a cache in a dictionary, by the five members of `BlobStore`.
//
// An app that has a database or a file format of its own writes such a type over it. `BlobStoreContract` of `SpoolTesting` checks it.

import Foundation
public import SpoolBlobs
import SpoolStore

/// Blobs in memory, up to a capacity. They end with the object, so several stores in turn may use one shelf.
public final class Shelf: BlobStore, @unchecked Sendable {
    // Safe to share: the lock protects the dictionary.

    private let lock = NSLock()
    private let capacityBytes: Int
    private var blobs: [String: [UInt8]] = [:]

    /// Creates an empty shelf.
    public init(capacityBytes: Int = 256 << 20) { self.capacityBytes = capacityBytes }

    private var usedBytes: Int { blobs.values.reduce(0) { $0 + $1.count } }

    public func put(_ bytes: [UInt8], as name: String) throws {
        try lock.withLock {
            guard bytes.count <= capacityBytes - usedBytes else { throw StoreError.full }
            blobs[name] = bytes
        }
    }

    public func read(_ range: Range<Int>, of name: String) throws -> [UInt8] {
        lock.withLock { Array((blobs[name] ?? []).dropFirst(range.lowerBound).prefix(range.count)) }
    }

    public func list() throws -> [BlobAttributes] {
        lock.withLock { blobs.map { BlobAttributes(name: $0.key, byteCount: $0.value.count) } }
    }

    public func remove(_ name: String) throws {
        _ = lock.withLock { blobs.removeValue(forKey: name) }
    }

    /// Nil: a dictionary is on no disk. The cache needs `StorageLimits.quotaBytes` below the capacity.
    public func freeBytes() throws -> Int64? { nil }
}
