/// The identity of a resource in the cache: a normalised string, compared in full and byte by byte.
///
/// Two keys that only look alike (a composed and a decomposed "é") are two keys, in memory as in the index.
public struct ResourceKey: Hashable, Sendable, Comparable {
    /// The normal form, as `KeyPolicy` made it.
    public let string: String

    /// The key of a string that is already in normal form or was chosen by the app.
    public init(normalized string: String) {
        self.string = string
    }

    public static func == (a: ResourceKey, b: ResourceKey) -> Bool {
        a.string.hasSameBytes(as: b.string)
    }

    public static func < (a: ResourceKey, b: ResourceKey) -> Bool { a.string.utf8.lexicographicallyPrecedes(b.string.utf8) }

    public func hash(into hasher: inout Hasher) {
        var copy = string
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // No byte of UTF-8: the end of the key.
        hasher.combine(UInt8.max)
    }
}

extension ResourceKey: CustomStringConvertible {
    public var description: String { string }

    /// The key without its query, which may carry secrets: what logs and events show.
    package var forLog: String { String(string.prefix { $0 != "?" }) }
}

extension String {
    /// Whether both strings have the same UTF-8, eight bytes at a time.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let isSame = utf8.withContiguousStorageIfAvailable { a in
            other.utf8.withContiguousStorageIfAvailable { b in
                UnsafeRawBufferPointer(a).hasSameBytes(as: UnsafeRawBufferPointer(b))
            }
        }
        // Strings of foreign make have no storage to look at.
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

extension UnsafeRawBufferPointer {
    /// Of two buffers of one length.
    fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        let words = count / 8
        for index in 0..<words
        where loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) != other.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) {
            return false
        }
        for index in (words * 8)..<count where self[index] != other[index] { return false }
        return true
    }
}
