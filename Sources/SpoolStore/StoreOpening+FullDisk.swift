import SpoolCore
import SpoolSystem

// Opening on a disk without space for the index: the opening frees the reserve first, then the
// files that the caller is about to remove anyway.

extension StoreOpening {
    /// Runs `open`. While the disk is too full for it, frees the next thing and runs it again.
    func makingRoom(_ open: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        do throws(StoreError) { return try open() } catch {
            guard error == .full, try releaseReserve() else { return try openWithoutExpendable(error, open) }
        }
        do throws(StoreError) { return try open() } catch { return try openWithoutExpendable(error, open) }
    }

    private func openWithoutExpendable(_ failure: StoreError, _ open: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard failure == .full, unlinkExpendable() else { throw failure }
        return try open()
    }

    private func releaseReserve() throws(StoreError) -> Bool {
        do throws(SystemError) { return try StoreReserve(layout, fileSystem: fileSystem).release() } catch { throw StoreError(error) }
    }

    /// Unlinks the files of the resources that the caller is about to remove. The index still names
    /// these files. Until the removal is entered, their bytes are gaps, and no file of their number
    /// is created.
    private func unlinkExpendable() -> Bool {
        var hasUnlinked = false
        for (key, directory) in expendableDirectories {
            for file in listing.dataFiles(in: directory) {
                guard let bytes = unlinkUnlessInUse(file.path) else { continue }
                hasUnlinked = true
                options.onExpended(key, bytes)
            }
        }
        return hasUnlinked
    }

    /// The directories of the files that may be unlinked, with their resource, or nil when it is
    /// not known.
    private var expendableDirectories: [(key: ResourceKey?, path: String)] {
        switch options.expendable {
        case nil: []
        case .resources(let keys)?: keys.map { ($0, layout.directory(hash: options.keyHash($0.string))) }
        case .everything?: listing.directories.map { (nil, $0) }
        }
    }

    /// Unlinks the file unless another process uses it. Returns the bytes that it occupied, or nil
    /// when it is still there. The caller holds the store's lock, so no other process asks for an
    /// exclusive lock on a data file.
    private func unlinkUnlessInUse(_ path: String) -> Int64? {
        do throws(SystemError) {
            let file = try fileSystem.open(path, .readWrite)
            guard try file.lock(.exclusive) else { return nil }
            let bytes = try file.status().allocatedBytes
            try fileSystem.unlink(path)
            return bytes
        } catch {
            options.noteLeftBehind(path, error)
            return nil
        }
    }

    // MARK: Reading without space

    /// Opens a store for reading whose disk is too full to write.
    func openWithoutSpace() throws(StoreError) -> Result {
        guard options.indexLayer == nil else { return try openAlone() }
        do throws(StoreError) { return try openForReading(heldBy: nil) } catch {
            switch error {
            case .key, .formatTooNew, .formatTooOld: throw error
            // SQLite has several codes for shared memory that can't grow.
            default: return try openAlone()
            }
        }
    }

    /// Opens a store that the caller only reads, whether or not another process writes.
    func openOnlyForReading() throws(StoreError) -> Result {
        do throws(StoreError) { return try openForReading(heldBy: nil) } catch {
            guard error == .full else { throw error }
            return try openAlone()
        }
    }

    /// Opens the index for reading without shared memory, which needs no space at all.
    ///
    /// Other processes would not notice such a reader, and could punch files that it still finds in
    /// its index. So it keeps the store's lock.
    private func openAlone() throws(StoreError) -> Result {
        let lock: StoreLock
        switch try acquireLock() {
        case .acquired(let acquired): lock = acquired
        case .held(let process): throw .locked(by: process)
        }
        do throws(StoreError) {
            var result = try read(openIndexAlone(), heldBy: nil)
            result.aloneLock = lock
            return result
        } catch {
            do throws(SystemError) { try lock.release() } catch { throw StoreError(error) }
            throw error
        }
    }

    private func openIndexAlone() throws(StoreError) -> (StoreIndex, Int?) {
        let index = try openDatabase(.readWrite, isAlone: true)
        return (index, try index.readFormat())
    }
}
