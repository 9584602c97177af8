/// One change that a ``MemoryDisk`` made; of what did not succeed only what it left behind.
package enum DiskOperation: Hashable, Sendable {
    /// The number of a file on its disk; it stays when the file is renamed.
    package typealias FileID = Int

    case createFile(String)
    case createDirectory(String)
    case write(FileID, offset: Int64, bytes: [UInt8])
    case truncate(FileID, size: Int64)
    case punchHole(FileID, offset: Int64, count: Int64)
    case synchronize(FileID)
    /// A sync that failed, and with it the pages that it left unwritten.
    case failSynchronize(FileID)
    case synchronizeDirectory(String)
    case unlink(String)
    case removeDirectory(String)
    case rename(String, to: String)
}
