public import SpoolCore
import SpoolSystem

// A full disk: the index keeps room of its own, and what nobody names gives its room back.

extension SQLiteStore {
    /// Makes the room for the index, if the disk has enough left. Index call, or before the first one.
    func fillReserve() {
        guard isWritable, options.keepsReserve ?? !options.usesFileSystemForIndex else { return }
        do throws(SystemError) { try reserve.fill() } catch {
            options.onRecovery(.fileLeftBehind(path: layout.reserve, error))
        }
    }

    /// Gives up the room that is kept for the index; false when there was none.
    func releaseReserve() -> Bool {
        do throws(SystemError) { return try reserve.release() } catch {
            options.onRecovery(.fileLeftBehind(path: layout.reserve, error))
            return false
        }
    }

    /// Unlinks the files of a resource although the index names them, because it has no room to enter that they go; true when there were
    /// some. Bytes of a missing file are gaps at the next look-up, and no file of that number is made before.
    func freeWithoutIndex(_ key: ResourceKey) throws(StoreError) -> Bool {
        try write { (index) throws(StoreError) in
            let entry = try index.translating { (index) throws(SQLiteError) in try index.lookup(key) }
            guard let entry else { return false }
            let hash = fileHash(of: key, entry.resource.generation)
            let path = path(of: entry.resource.generation, hash: hash, fileExtension: entry.resource.fileExtension)
            files.retire(entry.resource.generation)
            unlink(path, of: entry.resource.generation)
            return true
        }
    }

    public func namedBytes(of generation: GenerationID) throws(StoreError) -> ByteRangeSet {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.spans(of: generation).all }
        }
    }

    public func release(allBut kept: ByteRangeSet, of generation: GenerationID, in file: any DataFile) throws(StoreError) {
        try write { (index) throws(StoreError) in
            let named = try index.translating { (index) throws(SQLiteError) in try index.spans(of: generation).all }
            try file.release(allBut: kept.union(named))
        }
    }
}
