/// Bytes that can be read by offset: a data file, or what stands before one.
public protocol StoredBytes: AnyObject, Sendable {
    /// A descriptor to `sendfile` from, or nil when the bytes must be read: they are opened or changed on the way.
    var descriptor: Int32? { get }
    /// Reads up to `buffer.count` bytes; fewer only where they end. May block on the disk.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int
}
