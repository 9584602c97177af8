public import SpoolCore

/// What comparing the stored bytes of one resource with their checks has found.
public struct Verification: Hashable, Sendable {
    public var key: ResourceKey
    /// The URL that it was asked by.
    public var url: String
    /// Bytes that are what was written.
    public var soundBytes: Int64 = 0
    /// Bytes that have no check: a store keeps them from a time before checks were made.
    public var uncheckedBytes: Int64 = 0
    /// Bytes that are not what was written, or can't be read; whole blocks of 64 KiB, or what is stored of them.
    public var damaged = ByteRangeSet()
    /// The damaged bytes were taken out of the index: they are a gap, and fetched again when they are wanted.
    public var isRepaired = false

    public init(key: ResourceKey, url: String) {
        self.key = key
        self.url = url
    }

    /// Whether nothing is damaged.
    public var isSound: Bool { damaged.isEmpty }
}
