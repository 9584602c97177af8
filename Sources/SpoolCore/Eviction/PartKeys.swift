/// The keys of the parts of a playlist, in the order of the timeline.
///
/// A playlist can name thousands of parts, so one block of memory has the bytes of all keys, and
/// neighbours share the bytes of their directory. A part is compared by the hash of its key. Two
/// keys with one hash cost a wrong place in the order of eviction at most.
package struct PartKeys: Sendable {
    /// The most parts: a film of 18 hours in segments of 4 s.
    package static let limit = 16_384
    /// The most memory of the parts of one playlist, in bytes: `limit` keys of 190 bytes.
    package static let bytesLimit = 4 << 20
    /// The memory that a part takes besides its key, about, in bytes.
    private static let partBytes = 64

    /// The places of a key's two halves in `bytes`.
    private struct Place {
        var directory: Range<Int>
        var name: Range<Int>
    }

    private var bytes: [UInt8] = []
    private var places: [Place] = []
    /// The hash of each key.
    private(set) var hashes: [Int] = []
    /// The directory of the keys that follow, and its hash.
    private var directory: (place: Range<Int>, hash: UInt64) = (0..<0, ByteHash.hash(UnsafeRawBufferPointer(start: nil, count: 0)))

    /// Creates a list of keys.
    package init(_ keys: [ResourceKey] = []) {
        for key in keys { _ = append(key.string) }
    }

    /// The indices of the parts.
    package var indices: Range<Int> { places.indices }
    var count: Int { places.count }
    /// The memory of the parts, about, in bytes.
    package var heldBytes: Int { bytes.count + count * Self.partBytes }

    /// The key of the part at an index.
    package subscript(index: Int) -> ResourceKey {
        let place = places[index]
        return ResourceKey(normalized: String(decoding: bytes[place.directory] + bytes[place.name], as: UTF8.self))
    }

    /// Adds the key with this text.
    ///
    /// - Returns: Whether there was room for it.
    package mutating func append(_ key: String) -> Bool {
        var key = key
        return key.withUTF8 { key in
            let (directory, name) = UnsafeRawBufferPointer(key).halves
            return enter(directory) && append(name: name)
        }
    }

    /// Begins the keys that consist of a directory, up to its slash, and a name.
    ///
    /// - Returns: Whether there was room for it.
    package mutating func enter(_ text: UnsafeRawBufferPointer) -> Bool {
        let start = directory.place.lowerBound
        let isSame = text.count == directory.place.count && bytes.withUnsafeBytes { $0.begins(with: text, at: start) }
        guard !isSame else { return true }
        guard heldBytes + text.count <= Self.bytesLimit else { return false }
        directory = (bytes.count..<bytes.count + text.count, ByteHash.hash(text))
        bytes += text
        return true
    }

    /// Adds the key that consists of the directory and a name without a further one.
    ///
    /// - Returns: Whether there was room for it.
    package mutating func append(name: UnsafeRawBufferPointer) -> Bool {
        guard count < Self.limit, heldBytes + name.count <= Self.bytesLimit else { return false }
        places.append(Place(directory: directory.place, name: bytes.count..<bytes.count + name.count))
        bytes += name
        hashes.append(Self.hash(directory.hash, name))
        return true
    }

    /// Makes room for some parts.
    package mutating func reserve(parts: Int) {
        let parts = min(parts, Self.limit)
        places.reserveCapacity(parts)
        hashes.reserveCapacity(parts)
    }

    /// The hash of a key.
    static func hash(of key: ResourceKey) -> Int {
        var key = key.string
        return key.withUTF8 { key in
            let (directory, name) = UnsafeRawBufferPointer(key).halves
            return hash(ByteHash.hash(directory), name)
        }
    }

    private static func hash(_ directory: UInt64, _ name: UnsafeRawBufferPointer) -> Int {
        Int(truncatingIfNeeded: ByteHash.hash(directory: directory, name: name))
    }
}

extension UnsafeRawBufferPointer {
    /// The directory of a key, and all bytes behind it.
    fileprivate var halves: (directory: UnsafeRawBufferPointer, name: UnsafeRawBufferPointer) {
        let end = split.directory.upperBound
        return (UnsafeRawBufferPointer(rebasing: self[..<end]), UnsafeRawBufferPointer(rebasing: self[end...]))
    }
}
