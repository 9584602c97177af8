public import SpoolCore

// Pins, and what may go to make room.

extension SQLiteStore {
    public func setPinned(_ key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(StoreError) -> Bool {
        try write { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.setPinned(key, isPinned, time: time) }
        }
    }

    public func evictionCandidates(after last: EvictionCandidate?, limit: Int) throws(StoreError) -> [EvictionCandidate] {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.evictionCandidates(after: last, limit: limit) }
        }
    }

    public func filePath(of resource: StoredResource) -> String? {
        guard keys == nil, !resource.spans.isEmpty else { return nil }
        return path(of: resource.generation, hash: hash(of: resource.key), fileExtension: resource.fileExtension)
    }
}
