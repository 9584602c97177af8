public import SpoolCore

/// The result of a comparison of the stored bytes of one resource with their checks.
public struct Verification: Hashable, Sendable {
    /// The key of the resource.
    public var key: ResourceKey
    /// The URL of the resource, without user information.
    public var url: String
    /// The number of bytes that match their checks.
    public var soundBytes: Int64 = 0
    /// The number of bytes without a check, which a store has from before checks were made.
    public var uncheckedBytes: Int64 = 0
    /// The bytes that do not match their checks or can't be read, in whole blocks of 64 KiB, as far
    /// as these are stored.
    public var damaged = ByteRangeSet()
    /// Whether the damaged bytes were removed from the index. They are a gap then, and are fetched
    /// again when a reader needs them.
    public var isRepaired = false

    /// Creates a result without any bytes.
    package init(key: ResourceKey, url: String) {
        self.key = key
        self.url = url
    }

    /// Whether no byte is damaged.
    public var isSound: Bool { damaged.isEmpty }
}
