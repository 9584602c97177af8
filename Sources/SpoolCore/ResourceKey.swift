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

    public static func == (a: ResourceKey, b: ResourceKey) -> Bool { a.string.utf8.elementsEqual(b.string.utf8) }

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
}
