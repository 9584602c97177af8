package import SpoolCore
import SpoolSystem

// Pins, eviction candidates and the eviction of blocks.

extension SQLiteStore {
    /// Pins or unpins a key. Uses the reserve when the disk is full.
    package func setPinned(_ key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(StoreError) -> Bool {
        try writeWithReserve { (index) throws(StoreError) in
            try index.setPinned(key, isPinned, time: time)
        }
    }

    /// Returns up to `limit` pinned keys without stored bytes, in the order of their hashes.
    package func pinsWithoutBytes(after key: ResourceKey?, limit: Int) throws(StoreError) -> [ResourceKey] {
        try read { (index) throws(StoreError) in
            try index.pins.withoutBytes(after: key, limit: limit)
        }
    }

    /// Returns the newest access time.
    package func lastAccess() throws(StoreError) -> Timestamp? {
        try read { (index) throws(StoreError) in try index.resources.lastAccess() }
    }

    package func evictionCandidates(
        after last: EvictionCandidate?, largerThan bytes: Int64, limit: Int
    ) throws(StoreError) -> [EvictionCandidate] {
        try read { (index) throws(StoreError) in
            try index.eviction.candidates(after: last, largerThan: bytes, limit: limit)
        }
    }

    /// Removes blocks from the index, then punches them out of the file. Reports `.notPunched` when
    /// the file can't be changed.
    package func evict(_ blocks: ByteRangeSet, of generation: GenerationID, in file: any DataFile) throws(StoreError) -> Bool {
        try writeWithReserve { (index) throws(StoreError) in
            try index.discard(blocks, of: generation)
            var isFreed = true
            do throws(StoreError) {
                for block in blocks.ranges where try !file.punch(block.widenedToBlocks) { isFreed = false }
            } catch {
                // The index is correct even if the file could not be changed.
                isFreed = false
                options.onRecovery(.notPunched(generation, "\(error)"))
            }
            try noteSize(of: generation, file, index)
            return isFreed
        }
    }

    private func noteSize(of generation: GenerationID, _ file: any DataFile, _ index: StoreIndex) throws(StoreError) {
        guard let file = file as? StoreDataFile else { return }
        let status: FileStatus
        do throws(SystemError) { status = try file.status() } catch { throw StoreError(error) }
        try index.enterSize(of: generation, status)
    }

    /// Returns the free space of the disk, in bytes.
    package func freeBytes() throws(StoreError) -> Int64? {
        do throws(SystemError) { return try fileSystem.freeBytes(layout.root) } catch { throw StoreError(error) }
    }

    /// Returns the path of a plain store's data file, or nil for a missing resource and in an
    /// encrypted store.
    package func filePath(of resource: StoredResource) -> String? {
        guard keys == nil, !resource.spans.isEmpty else { return nil }
        return files.path(
            of: resource.generation, hash: files.hash(of: resource.key, resource.generation), fileExtension: resource.fileExtension)
    }
}
