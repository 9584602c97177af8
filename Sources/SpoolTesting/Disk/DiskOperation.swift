/// One change that a ``MemoryDisk`` made. For a failed call, only the part that it left behind.
package enum DiskOperation: Hashable, Sendable {
    /// The number of a file on its disk, which stays when the file is renamed.
    package typealias FileID = Int

    case createFile(String)
    case createDirectory(String)
    case write(FileID, offset: Int64, bytes: [UInt8])
    case truncate(FileID, size: Int64)
    case punchHole(FileID, offset: Int64, count: Int64)
    case synchronize(FileID)
    /// A sync that failed, and left its pages unwritten.
    case failSynchronize(FileID)
    case synchronizeDirectory(String)
    case unlink(String)
    case removeDirectory(String)
    case rename(String, to: String)
}
