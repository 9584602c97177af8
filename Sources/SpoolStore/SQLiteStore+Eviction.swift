public import SpoolCore
import SpoolSystem

// Pins, and what may go to make room.

extension SQLiteStore {
    public func setPinned(_ key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(StoreError) -> Bool {
        try writeWithReserve { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.setPinned(key, isPinned, time: time) }
        }
    }

    public func pinsWithoutBytes(after key: ResourceKey?, limit: Int) throws(StoreError) -> [ResourceKey] {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.pinsWithoutBytes(after: key, limit: limit) }
        }
    }

    public func evictionCandidates(after last: EvictionCandidate?, limit: Int) throws(StoreError) -> [EvictionCandidate] {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.evictionCandidates(after: last, limit: limit) }
        }
    }

    public func evictionCandidates(
        after last: EvictionCandidate?, largerThan bytes: Int64, limit: Int
    ) throws(StoreError) -> [EvictionCandidate] {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in
                try index.evictionCandidates(after: last, largerThan: bytes, limit: limit)
            }
        }
    }

    public func emptyResources(beyond kept: Int, limit: Int) throws(StoreError) -> [ResourceKey] {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.emptyResources(beyond: kept, limit: limit) }
        }
    }

    public func evict(_ blocks: ByteRangeSet, of generation: GenerationID, in file: any DataFile) throws(StoreError) -> Bool {
        try writeWithReserve { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.discard(blocks, of: generation) }
            var isFreed = true
            do throws(StoreError) {
                for block in blocks.ranges where try !file.punch(block.widenedToBlocks) { isFreed = false }
            } catch {
                // The index is right whatever happens to the file.
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
        try index.translating { (index) throws(SQLiteError) in try index.enterSize(of: generation, status.allocatedBytes) }
    }

    public func freeBytes() throws(StoreError) -> Int64? {
        do throws(SystemError) { return try fileSystem.freeBytes(layout.root) } catch { throw StoreError(error) }
    }

    public func filePath(of resource: StoredResource) -> String? {
        guard keys == nil, !resource.spans.isEmpty else { return nil }
        return path(of: resource.generation, hash: fileHash(of: resource.key, resource.generation), fileExtension: resource.fileExtension)
    }
}
