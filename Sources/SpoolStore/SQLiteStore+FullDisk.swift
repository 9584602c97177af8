package import SpoolCore
import SpoolSystem

// Handling of a full disk: a reserve of space for the index, and removals without the index.

extension SQLiteStore {
    /// Creates the reserve for the index if the disk has enough space. Index call, or called before
    /// the first one.
    func fillReserve() {
        guard isWritable, options.keepsReserve ?? (options.indexLayer == nil) else { return }
        do throws(SystemError) { try reserve.fill() } catch {
            options.onRecovery(.fileLeftBehind(path: layout.reserve, error))
        }
    }

    /// Deletes the reserve. Returns false when that freed no space.
    func releaseReserve() -> Bool {
        do throws(SystemError) { return try reserve.release() } catch {
            options.onRecovery(.fileLeftBehind(path: layout.reserve, error))
            return false
        }
    }

    /// Unlinks the file of a resource before the index enters the removal, because the index lacks
    /// room for the entry. Returns whether the resource was in the index. Until the removal is
    /// entered, bytes of the missing file are gaps at the next look-up, and no file of that number
    /// is created.
    func freeWithoutIndex(_ key: ResourceKey) throws(StoreError) -> Bool {
        try write { (index) throws(StoreError) in
            let entry = try index.entries.entry(of: key)
            guard let entry else { return false }
            let hash = files.hash(of: key, entry.resource.generation)
            let path = files.path(of: entry.resource.generation, hash: hash, fileExtension: entry.resource.fileExtension)
            files.open.retire(entry.resource.generation)
            files.unlink(path, of: entry.resource.generation)
            return true
        }
    }

    /// Returns the bytes of a generation that are in the index.
    package func namedBytes(of generation: GenerationID) throws(StoreError) -> ByteRangeSet {
        try read { (index) throws(StoreError) in
            try index.pieces.spans(of: generation).all
        }
    }
}
