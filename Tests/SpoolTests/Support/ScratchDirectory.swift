import Foundation
import SpoolStore
import SpoolSystem

/// A directory for one test. It is removed with its contents when the test releases it.
final class ScratchDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("spool-engine-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch { print("left behind: \(path): \(error)") }
    }

    func bytes(of path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }

    /// Opens the store in this directory.
    func openStore(_ encryption: EncryptionOptions? = nil) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.encryption = encryption
        return try SQLiteStore(directory: path + "/store", fileSystem: POSIXFileSystem(), random: SystemRandom(), options: options)
    }

    /// Inverts one byte of a file, as a failing disk does.
    func change(byte offset: UInt64, of path: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: offset)
        let byte = try file.read(upToCount: 1)?.first ?? 0
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data([~byte]))
        try file.close()
    }

    /// The room that the files below `name` occupy on the disk, in bytes.
    func allocatedBytes(below name: String) -> Int64 {
        let root = URL(fileURLWithPath: path).appendingPathComponent(name)
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        return files.reduce(0) { sum, file in
            var status = stat()
            guard stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return sum }
            return sum + Int64(status.st_blocks) * 512
        }
    }
}
