/// A descriptor of an open file. It stays open as long as something holds `owner`.
public struct OpenDescriptor: Sendable {
    public let number: Int32
    /// Closes the descriptor when the last reference goes.
    public let owner: any AnyObject & Sendable

    public init(_ number: Int32, owner: any AnyObject & Sendable) {
        self.number = number
        self.owner = owner
    }
}

/// Bytes that can be read by offset: a data file, or what stands before one.
public protocol StoredBytes: AnyObject, Sendable {
    /// A descriptor to `sendfile` from, or nil when the bytes must be read: they are opened or changed on the way, or the file is not open
    /// at this moment, which the next `read` changes. Never blocks.
    var descriptor: OpenDescriptor? { get }
    /// Reads up to `buffer.count` bytes; fewer only where they end. May block on the disk.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int
    /// Reads what can be read without waiting for the disk, up to `buffer.count` bytes, for who must not block: those that are in memory, and
    /// are what was stored. 0 where there are none, where that can't be said, and where anything is wrong; `read` tells what.
    func readResident(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int
}

extension StoredBytes {
    /// Nothing is known to be in memory.
    public func readResident(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int { 0 }
}
