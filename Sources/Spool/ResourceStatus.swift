public import SpoolCore
package import SpoolStore

/// The metadata and the stored bytes of one resource, at one moment.
public struct ResourceStatus: Hashable, Sendable, CustomStringConvertible {
    /// The key of the resource.
    public var key: ResourceKey
    /// The URL of the resource, without user information.
    public var url: String
    /// The version that the cache has, with its length, type and validator.
    public var representation: Representation
    /// The bytes that are stored.
    public var stored: ByteRangeSet
    /// The time of the last use in the index, which may be a little behind. Nil if the index has no
    /// entry.
    public var lastAccess: Timestamp?
    /// Whether the resource is protected from eviction (`MediaCache.pin(_:)`).
    public var isPinned: Bool
    /// The number of its current readers.
    public var readers: Int
    /// The number of its current fetches.
    public var fetches: Int
    /// The reason why bytes of the resource are passed on and not stored. Nil if they are stored,
    /// or if the cache has had no reader of the resource recently.
    public var notStoredBecause: String?

    /// Whether every byte is stored. False while the length is not known.
    public var isComplete: Bool {
        guard let length = representation.length else { return false }
        return length == 0 || stored.totalBytes == length
    }

    /// One line: the URL, and how much of the resource is stored.
    public var description: String {
        let length = representation.length.map { " of \($0)" } ?? ""
        let reason = notStoredBecause.map { ", not stored: \($0)" } ?? ""
        return "\(url): \(stored.totalBytes)\(length) bytes stored\(isPinned ? ", pinned" : "")\(reason)"
    }

    /// Creates the status from the index and the session, or returns nil if neither has the
    /// representation.
    package init?(stored: StoredResource?, live: Live?) {
        guard let key = stored?.key ?? live?.key, let representation = live?.representation ?? stored?.representation else { return nil }
        self.key = key
        // Stores of earlier versions contain URLs with user information.
        url = stored?.url.withoutUserinfo ?? live?.url ?? key.string
        self.representation = representation
        self.stored = live?.stored ?? stored?.spans ?? ByteRangeSet()
        lastAccess = stored?.lastAccess
        isPinned = stored?.isPinned == true
        readers = live?.readers ?? 0
        fetches = live?.fetches ?? 0
        notStoredBecause = live?.passReason?.description
    }

    /// The state of the session, which is newer than the index.
    package struct Live: Sendable {
        package var key: ResourceKey
        package var url: String
        package var representation: Representation?
        package var stored: ByteRangeSet?
        package var readers: Int
        package var fetches: Int
        package var passReason: NotStoredReason?
    }
}
