import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting

/// The notes that a store reported to its owner, in order.
final class RecoveryLog: Sendable {
    private let entries = Locked<[RecoveryNote]>([])

    var notes: [RecoveryNote] { entries.withLock { $0 } }

    func add(_ note: RecoveryNote) { entries.withLock { $0.append(note) } }
}

/// Opens stores of tests on the real file system.
struct DiskStore {
    let root: String
    var log = RecoveryLog()
    var bootID: String? = "boot"
    var mustBeWritable = false

    init(_ directory: TemporaryDirectory) {
        root = directory.path + "/cache"
    }

    func open() throws(StoreError) -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.bootID = bootID
        options.processID = 4021
        options.mustBeWritable = mustBeWritable
        options.onRecovery = { [log] in log.add($0) }
        return try SQLiteStore(directory: root, fileSystem: POSIXFileSystem(), random: SeededRandom(seed: 1), options: options)
    }

    /// Overwrites bytes of a file of the store.
    func overwrite(_ name: String, at offset: Int64, with bytes: [UInt8]) throws {
        let file = try POSIXFileSystem().open("\(root)/\(name)", .readWrite)
        var failure: (any Error)?
        bytes.withUnsafeBytes { buffer in
            do { try file.write(buffer, at: offset) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// The paths of all data files.
    func dataFiles() throws -> [String] {
        let disk = POSIXFileSystem()
        return try disk.list("\(root)/data").flatMap { group in
            try disk.list("\(root)/data/\(group)").flatMap { hash in
                try disk.list("\(root)/data/\(group)/\(hash)").map { "\(root)/data/\(group)/\(hash)/\($0)" }
            }
        }
    }
}
