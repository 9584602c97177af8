package import SpoolStore
import SpoolSystem

#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

/// SQLite's file system layer over an injected `FileSystem`, so that simulated disks carry the
/// index's own I/O.
///
/// The layer has no shared memory, so the write-ahead log works only under
/// `locking_mode=EXCLUSIVE`. Its file locks do nothing, because the store's lock file already admits
/// one connection only.
final class SimulatedVFS: IndexLayer {
    /// The name for opening a connection.
    let name: String
    fileprivate let fileSystem: any FileSystem
    fileprivate let random: any RandomSource
    fileprivate let methods: UnsafeMutablePointer<sqlite3_io_methods>
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    private let nameStorage: UnsafeMutablePointer<CChar>

    /// The maximum length of a path, in bytes.
    private static let pathLimitBytes: Int32 = 4_096
    /// Counts the names, because SQLite's list of layers is one for the whole process.
    private static let count = Locked(0)

    init(fileSystem: any FileSystem, random: any RandomSource) throws(StoreError) {
        self.fileSystem = fileSystem
        self.random = random
        let number = Self.count.withLock { (count: inout Int) -> Int in
            count += 1
            return count
        }
        name = "spool-\(number)"
        nameStorage = .allocate(capacity: name.utf8.count + 1)
        for (index, byte) in name.utf8.enumerated() { nameStorage[index] = CChar(bitPattern: byte) }
        nameStorage[name.utf8.count] = 0
        methods = .allocate(capacity: 1)
        methods.initialize(to: VFSFile.methods())
        vfs = .allocate(capacity: 1)
        vfs.initialize(to: sqlite3_vfs())
        fillIn()
        let code = sqlite3_vfs_register(vfs, 0)
        guard code == SQLITE_OK else {
            throw .index(code: code, message: "cannot register a file system layer in \(name)")
        }
    }

    deinit {
        sqlite3_vfs_unregister(vfs)
        vfs.deallocate()
        methods.deallocate()
        nameStorage.deallocate()
    }

    private func fillIn() {
        vfs.pointee.iVersion = 2
        vfs.pointee.szOsFile = Int32(MemoryLayout<VFSFileRecord>.size)
        vfs.pointee.mxPathname = Self.pathLimitBytes
        vfs.pointee.zName = UnsafePointer(nameStorage)
        // Not retained: `deinit` unregisters the layer.
        vfs.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
        vfs.pointee.xOpen = { vfs, path, file, flags, outFlags in
            SimulatedVFS.of(vfs).open(path, file, flags, outFlags)
        }
        vfs.pointee.xDelete = { vfs, path, syncDirectory in
            SimulatedVFS.of(vfs).delete(path, thenSyncing: syncDirectory != 0)
        }
        vfs.pointee.xAccess = { vfs, path, _, answer in
            SimulatedVFS.of(vfs).access(path, answer)
        }
        vfs.pointee.xFullPathname = { _, path, capacity, output in
            SimulatedVFS.copy(path, to: output, capacity: capacity)
        }
        vfs.pointee.xRandomness = { vfs, count, output in
            SimulatedVFS.of(vfs).fill(output, count)
        }
        // A simulation has one connection and therefore no lock to wait for, so the call returns at
        // once.
        vfs.pointee.xSleep = { _, microseconds in microseconds }
        // Spool's statements never read the time. The value is the Unix epoch as a Julian day, in
        // days and in milliseconds.
        vfs.pointee.xCurrentTime = { _, days in
            days?.pointee = 2_440_587.5
            return SQLITE_OK
        }
        vfs.pointee.xCurrentTimeInt64 = { _, milliseconds in
            milliseconds?.pointee = 210_866_760_000_000
            return SQLITE_OK
        }
        vfs.pointee.xGetLastError = { _, _, _ in 0 }
    }

    private static func of(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> SimulatedVFS {
        guard let context = vfs?.pointee.pAppData else { preconditionFailure("SQLite called a file system layer without its context") }
        return Unmanaged<SimulatedVFS>.fromOpaque(context).takeUnretainedValue()
    }
}

// MARK: - Calls

extension SimulatedVFS {
    private func open(
        _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file else { return SQLITE_MISUSE }
        // "If the xOpen fails, xOpen must set the sqlite3_file.pMethods to NULL", or xClose would
        // be called.
        file.pointee.pMethods = nil
        // A file without a name is temporary. `temp_store=MEMORY` prevents such files.
        guard let path else { return SQLITE_CANTOPEN }
        let name = String(cString: path)
        do throws(SystemError) {
            let isNew = try fileSystem.status(name) == nil
            let handle = try fileSystem.open(name, Self.mode(flags))
            let opened = VFSFile(
                handle: handle, path: name, fileSystem: fileSystem, mustSyncDirectory: isNew,
                isDeletedOnClose: flags & SQLITE_OPEN_DELETEONCLOSE != 0)
            file.withMemoryRebound(to: VFSFileRecord.self, capacity: 1) { $0.pointee.file = Unmanaged.passRetained(opened) }
            file.pointee.pMethods = UnsafePointer(methods)
            outFlags?.pointee = flags
            return SQLITE_OK
        } catch {
            return SQLITE_CANTOPEN
        }
    }

    private static func mode(_ flags: Int32) -> FileOpenMode {
        if flags & SQLITE_OPEN_CREATE != 0 { return .create }
        return flags & SQLITE_OPEN_READWRITE != 0 ? .readWrite : .read
    }

    private func delete(_ path: UnsafePointer<CChar>?, thenSyncing syncsDirectory: Bool) -> Int32 {
        guard let path else { return SQLITE_MISUSE }
        let name = String(cString: path)
        do throws(SystemError) {
            guard try fileSystem.status(name) != nil else { return VFSCode.deleteNoEntry }
            try fileSystem.unlink(name)
            if syncsDirectory { try fileSystem.synchronizeDirectory(parentDirectory(of: name) ?? "/") }
            return SQLITE_OK
        } catch {
            return VFSCode.delete
        }
    }

    /// Whether a file exists. As in SQLite's own layer, an empty file counts as missing (an empty
    /// journal is no journal).
    private func access(_ path: UnsafePointer<CChar>?, _ answer: UnsafeMutablePointer<Int32>?) -> Int32 {
        guard let path else { return SQLITE_MISUSE }
        do throws(SystemError) {
            let status = try fileSystem.status(String(cString: path))
            answer?.pointee = status.map { $0.isDirectory || $0.size > 0 } == true ? 1 : 0
            return SQLITE_OK
        } catch {
            return VFSCode.access
        }
    }

    private static func copy(_ path: UnsafePointer<CChar>?, to output: UnsafeMutablePointer<CChar>?, capacity: Int32) -> Int32 {
        guard let path, let output else { return SQLITE_MISUSE }
        var index = 0
        while index < Int(capacity) {
            output[index] = path[index]
            if path[index] == 0 { return SQLITE_OK }
            index += 1
        }
        return SQLITE_CANTOPEN
    }

    private func fill(_ output: UnsafeMutablePointer<CChar>?, _ count: Int32) -> Int32 {
        guard let output, count > 0 else { return 0 }
        for index in 0..<Int(count) { output[index] = CChar(truncatingIfNeeded: random.next()) }
        return count
    }
}

extension SQLiteStore.Options {
    /// Whether the index's own I/O goes through the injected file system.
    package var usesFileSystemForIndex: Bool {
        get { indexLayer != nil }
        set { indexLayer = newValue ? Self.simulatedLayer : nil }
    }

    private static let simulatedLayer = IndexLayerMaker {
        (disk: any FileSystem, random: any RandomSource) throws(StoreError) -> any IndexLayer in
        try SimulatedVFS(fileSystem: disk, random: random)
    }
}
