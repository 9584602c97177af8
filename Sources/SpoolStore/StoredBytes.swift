package import SpoolCore

/// A descriptor of an open file. It stays open as long as a reference to `owner` exists.
public struct OpenDescriptor: Sendable {
    /// The number of the descriptor.
    public let number: Int32
    /// The object that closes the descriptor when its last reference is released.
    public let owner: any AnyObject & Sendable

    /// Creates a descriptor with its owner.
    public init(_ number: Int32, owner: any AnyObject & Sendable) {
        self.number = number
        self.owner = owner
    }
}

/// Bytes that can be read by offset: a data file, or a wrapper around one.
public protocol StoredBytes: AnyObject, Sendable {
    /// A descriptor for `sendfile`, or nil when the bytes must be read. They must be read when a
    /// key or a transform changes them on the way. They must also be read while the file is closed;
    /// the next `read` opens it. Never blocks.
    var descriptor: OpenDescriptor? { get }
    /// Reads up to `buffer.count` bytes, and fewer only at the end of the bytes. May block on the
    /// disk.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int
    /// Reads up to `buffer.count` bytes without waiting for the disk, for callers that must not
    /// block. Reads only bytes that are in memory and match their seal.
    ///
    /// - Returns: the number of bytes. It is 0 when none are in memory, when that is not known, and
    ///   after any error; `read` throws that error.
    func readResident(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int
}

extension StoredBytes {
    /// Returns 0: it is not known whether bytes are in memory.
    public func readResident(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int { 0 }

    /// Reads a range, and fewer bytes only at the end of the bytes. May block on the disk.
    package func bytes(in range: ByteRange) throws(StoreError) -> [UInt8] {
        var failure: StoreError?
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(range.count)) { memory, count in
            do throws(StoreError) {
                count = try read(into: UnsafeMutableRawBufferPointer(memory), at: range.lowerBound)
            } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads up to `limit` bytes from `offset` on without waiting for the disk, as `readResident` does.
    package func residentBytes(at offset: Int64, limit: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { memory, count in
            count = readResident(into: UnsafeMutableRawBufferPointer(memory), at: offset)
        }
    }
}
