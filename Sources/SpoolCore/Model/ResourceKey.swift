/// The identity of a resource in the cache: a normalised string, compared in full and byte by byte.
///
/// Two keys that only look alike (a composed and a decomposed "é") are two keys, in memory as in
/// the index.
public struct ResourceKey: Hashable, Sendable, Comparable {
    /// The normal form, as `KeyPolicy` or the app produced it.
    public let string: String

    /// Creates the key of a string that is in normal form already, or that the app has chosen.
    public init(normalized string: String) {
        self.string = string
    }

    /// Whether both keys have the same UTF-8 bytes.
    public static func == (a: ResourceKey, b: ResourceKey) -> Bool {
        a.string.hasSameBytes(as: b.string)
    }

    /// Whether the first key precedes the second in the order of their UTF-8 bytes.
    public static func < (a: ResourceKey, b: ResourceKey) -> Bool {
        var (a, b) = (a.string, b.string)
        return a.withUTF8 { a in b.withUTF8 { b in a.lexicographicallyPrecedes(b) } }
    }

    /// Hashes the UTF-8 bytes.
    public func hash(into hasher: inout Hasher) {
        var copy = string
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // A byte that UTF-8 never contains marks the end of the key.
        hasher.combine(UInt8.max)
    }
}

extension ResourceKey: CustomStringConvertible {
    /// The key itself.
    public var description: String { string }

    /// The key without its query, which may contain secrets. Logs and events show this form.
    package var forLog: String { String(string.prefix { $0 != "?" }) }
}

extension String {
    /// Whether both strings have the same UTF-8. Compares eight bytes at a time.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let isSame = utf8.withContiguousStorageIfAvailable { a in
            other.utf8.withContiguousStorageIfAvailable { b in
                UnsafeRawBufferPointer(a).hasSameBytes(as: UnsafeRawBufferPointer(b))
            }
        }
        // Bridged strings have no contiguous storage.
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether both buffers, which have the same length, contain the same bytes.
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
