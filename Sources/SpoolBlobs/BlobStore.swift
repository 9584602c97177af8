public import SpoolStore
import SpoolSystem

/// A place that keeps blobs by their names, for the bytes of a cache: a dictionary, a database, a
/// file system of the app.
///
/// ```swift
/// let cache = try MediaCache(store: blobs.openStore())
/// ```
///
/// A blob is written once, and never changed. Its name has at most 100 letters, digits and
/// hyphens, and its size is at most 64 KiB, apart from a few that list the others. The members are
/// called on any thread, also at the same time, and may block.
///
/// The store over it owns everything else: versions, checks, the order of writing, eviction. It
/// verifies each read, so a place that loses its last writes, or returns other bytes, costs
/// requests and never gives a reader a wrong byte. One process at a time may use a place.
///
/// Every implementation passes `BlobStoreContract` of `SpoolTesting`.
public protocol BlobStore: AnyObject, Sendable {
    /// Stores a blob. The name is new, unless a process ended while it stored the same name.
    ///
    /// - Throws: `StoreError.full` if there is no room. Any other error is a fault of the place.
    func put(_ bytes: [UInt8], as name: String) throws

    /// Returns bytes of a blob, fewer at its end, and none of a blob that does not exist.
    func read(_ range: Range<Int>, of name: String) throws -> [UInt8]

    /// Returns the names and the sizes of all blobs, in any order.
    func list() throws -> [BlobAttributes]

    /// Removes a blob. A name without a blob is no error.
    func remove(_ name: String) throws

    /// Returns the free bytes of the disk that the place is on, or nil if that is not known.
    ///
    /// A cache stores nothing while they are fewer than `StorageLimits.minimumFreeBytes`. So a place
    /// with a capacity of its own returns nil, and the cache gets a `quotaBytes` below it.
    func freeBytes() throws -> Int64?
}

/// The name and the size of a blob.
public struct BlobAttributes: Hashable, Sendable {
    /// The name.
    public var name: String
    /// The size, in bytes.
    public var byteCount: Int

    /// Creates the attributes of a blob.
    public init(name: String, byteCount: Int) {
        self.name = name
        self.byteCount = byteCount
    }
}

extension BlobStore {
    /// Opens the store of a cache on the blobs, with what an earlier process stored.
    ///
    /// The index is in memory, about 100 bytes for each 64 KiB of media, and is stored a few times
    /// a minute and when the store is closed. A process that is killed loses what came after the
    /// last time. The store has no list of downloads and keeps no history.
    ///
    /// - Throws: The errors of the blobs; `.tooLarge` for more than 4 194 304 blobs (256 GiB).
    public func openStore() throws(StoreError) -> any ResourceStore { try BlobOpening(blobs: self).open() }

    /// Calls a member, and returns its failure as an error of the store.
    func storing<Result>(_ operation: String, _ body: () throws -> Result) throws(StoreError) -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            throw error
        } catch {
            throw .io(SystemError(code: Self.inputOutputError, operation: operation, subject: "\(error)"))
        }
    }

    /// `EIO`, with which a reader takes the bytes from the origin.
    private static var inputOutputError: Int32 { 5 }
}
