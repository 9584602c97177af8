package import SpoolCore
import SpoolSystem

// Data files and their entries in the index.

extension SQLiteStore {
    /// Returns the open file of a generation, or opens it. Creates an empty file when it is missing
    /// and the store is writable.
    package func dataFile(
        of generation: GenerationID, key: ResourceKey, fileExtension: String
    ) throws(StoreError) -> any DataFile {
        try files.file(of: generation, key: key, fileExtension: fileExtension)
    }

    /// Retires a generation and unlinks its file. Removes its directory if that is empty.
    package func drop(_ generation: GenerationID, key: ResourceKey, fileExtension: String) {
        files.drop(generation, key: key, fileExtension: fileExtension)
    }

    /// Drops a generation unless the index has it.
    package func dropUncommitted(_ generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError) {
        let isNamed = try read { (index) throws(StoreError) in
            try index.representations.file(of: generation) != nil
        }
        if !isNamed { drop(generation, key: key, fileExtension: fileExtension) }
    }

    // MARK: Checking

    /// Returns an entry of the index, clipped to the bytes that its file really has. A resource
    /// whose file is gone is removed.
    func checked(_ entry: EntryQuery.Entry, _ index: StoreIndex) throws(StoreError) -> StoredResource? {
        var resource = entry.resource
        guard let end = resource.spans.upperBound else { return resource }
        // The hash is computed again only when the file may be named by another key than the row.
        let hash = keys?.previous == nil ? entry.keyHash : files.hash(of: resource.key, resource.generation)
        let path = files.path(of: resource.generation, hash: hash, fileExtension: resource.fileExtension)
        guard let status = try files.status(path, of: resource.generation) else {
            if isWritable {
                _ = try index.remove(resource.key)
                // A file of another extension would stay if the row of the index is damaged.
                for file in files.listing.dataFiles(in: layout.directory(hash: hash)) where file.generation == resource.generation {
                    files.unlink(file.path, of: file.generation)
                }
            }
            options.onRecovery(.dataFileMissing(resource.key))
            return nil
        }
        let size = status.size
        guard size < end else { return resource }
        if isWritable {
            // A check that covers lost bytes can't verify the other bytes of its block, so the
            // block is removed as a whole.
            try index.clip(resource.generation, to: status)
            (resource.spans, resource.unverified) = try index.pieces.spans(of: resource.generation)
        } else if let lost = ByteRange(size, .max) {
            resource.spans.remove(lost)
            resource.unverified.remove(lost)
        }
        options.onRecovery(.dataFileTruncated(resource.key, size: size))
        return resource
    }

    // MARK: A damaged index

    /// Leaves a mark for the next opening when a call found a contradiction in the index.
    func noteDamage(_ error: StoreError) {
        guard isWritable, error.isCorruption, case .index(_, let message) = error else { return }
        do throws(SystemError) {
            _ = try fileSystem.open(layout.damageMark, .create)
        } catch {
            options.onRecovery(.fileLeftBehind(path: layout.damageMark, error))
        }
        options.onRecovery(.indexDamaged(reason: message))
    }

    /// Unlinks the indexes that were set aside. They contain which resources were stored: in an
    /// encrypted store, for an attacker with the key of that time.
    func removeDamagedIndexes() {
        for number in 1...StoreOpening.damagedIndexLimit {
            let path = layout.damagedIndex(number: number)
            for name in [path] + StoreLayout.indexCompanionSuffixes.map({ path + $0 }) {
                do throws(SystemError) { try fileSystem.unlink(name) } catch {
                    options.noteLeftBehind(name, error)
                }
            }
        }
    }
}
