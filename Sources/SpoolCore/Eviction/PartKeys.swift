/// The keys of the parts of a playlist, in the order of the timeline.
///
/// A playlist can name thousands of parts, so one block of memory has the bytes of all keys. A part
/// is compared by the hash of its key. Two keys with one hash cost a wrong place in the order of
/// eviction at most.
package struct PartKeys: Hashable, Sendable {
    /// The most parts: a film of 18 hours in segments of 4 s.
    package static let limit = 16_384
    /// The most memory of the parts of one playlist, in bytes: `limit` keys of 190 bytes.
    package static let bytesLimit = 4 << 20
    /// The memory that a part takes besides its key, about, in bytes.
    private static let partBytes = 64

    private var bytes: [UInt8] = []
    /// The end of each key in `bytes`.
    private var ends: [Int] = []
    /// The hash of each key.
    private(set) var hashes: [Int] = []

    /// Creates a list of keys.
    package init(_ keys: [ResourceKey] = []) {
        for key in keys { _ = append(key.string) }
    }

    /// The indices of the parts.
    package var indices: Range<Int> { ends.indices }
    var count: Int { ends.count }
    /// The memory of the parts, about, in bytes.
    package var heldBytes: Int { bytes.count + count * Self.partBytes }

    /// The key of the part at an index.
    package subscript(index: Int) -> ResourceKey {
        let start = index == 0 ? 0 : ends[index - 1]
        return ResourceKey(normalized: String(decoding: bytes[start..<ends[index]], as: UTF8.self))
    }

    /// Adds the key with this text.
    ///
    /// - Returns: Whether there was room for it.
    package mutating func append(_ key: String) -> Bool {
        var key = key
        return key.withUTF8 { append([], UnsafeRawBufferPointer($0)) }
    }

    /// Adds the key that consists of a directory and a name, both in UTF-8.
    ///
    /// - Returns: Whether there was room for it.
    package mutating func append(_ directory: [UInt8], _ name: UnsafeRawBufferPointer) -> Bool {
        guard count < Self.limit, heldBytes + directory.count + name.count <= Self.bytesLimit else { return false }
        let start = bytes.count
        bytes += directory
        bytes += name
        ends.append(bytes.count)
        hashes.append(bytes.withUnsafeBytes { Self.hash(UnsafeRawBufferPointer(rebasing: $0[start...])) })
        return true
    }

    /// Makes room for some parts.
    package mutating func reserve(parts: Int) {
        let parts = min(parts, Self.limit)
        ends.reserveCapacity(parts)
        hashes.reserveCapacity(parts)
    }

    /// The hash of a key.
    static func hash(of key: ResourceKey) -> Int {
        var key = key.string
        return key.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int { Int(truncatingIfNeeded: ByteHash.hash(bytes)) }
}
