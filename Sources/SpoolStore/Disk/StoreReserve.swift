import SpoolSystem

/// A file that reserves disk space for the index.
///
/// 1. Another program, or the store itself, fills the disk.
/// 2. Removing a resource frees space, but the index must enter the removal first, and its log has
///    to grow for that.
/// 3. Without reserved space the store could never free anything again. So the store deletes this
///    file when the index finds no space, and creates it again when there is enough.
final class StoreReserve: Sendable {
    /// The size of the file. It is enough for the log of the transactions that free more space.
    static let bytes = 1 << 20
    private static let bytesPerWrite = 64 << 10
    /// The file is created only when the disk has this many times its size free, so that it does
    /// not take space that other writes need.
    private static let freeFactor: Int64 = 4

    private let layout: StoreLayout
    private let fileSystem: any FileSystem

    init(_ layout: StoreLayout, fileSystem: any FileSystem) {
        self.layout = layout
        self.fileSystem = fileSystem
    }

    private var path: String { layout.reserve }

    /// Deletes the file. Returns false when it freed no space.
    func release() throws(SystemError) -> Bool {
        guard let status = try fileSystem.status(path), !status.isDirectory else { return false }
        try fileSystem.unlink(path)
        return status.allocatedBytes > 0
    }

    /// Creates the file if it is missing or a kill left a part of it, and the disk has enough space.
    func fill() throws(SystemError) {
        let size = try fileSystem.status(path)?.size
        guard size != Int64(Self.bytes) else { return }
        if let free = try fileSystem.freeBytes(layout.root), free < Self.freeFactor * Int64(Self.bytes) { return }
        if size != nil { try fileSystem.unlink(path) }
        let file = try fileSystem.open(path, .create)
        do throws(SystemError) { try fill(file) } catch {
            // A partial file is of little use and takes the last free space.
            try fileSystem.unlink(path)
            if !error.meansNoRoom { throw error }
        }
    }

    private func fill(_ file: any FileHandle) throws(SystemError) {
        let zeros = [UInt8](repeating: 0, count: Self.bytesPerWrite)
        for offset in stride(from: 0, to: Self.bytes, by: Self.bytesPerWrite) { try file.write(zeros, at: Int64(offset)) }
    }
}
