import SpoolCore
import SpoolStore
import SpoolSystem

/// Keeps the contents of a store as blobs: bytes at once, entries after the bytes that they name.
final class BlobPlace: StoreBacking {
    private struct State {
        var lastSerial: Int64
        /// The blobs of the entries, by their keys.
        var entries: [ResourceKey: BlobName]
        var isClosed = false
    }

    private let blobs: any BlobStore
    private let state: Locked<State>

    init(_ blobs: any BlobStore, lastSerial: Int64, entries: [ResourceKey: BlobName]) {
        self.blobs = blobs
        state = Locked(State(lastSerial: lastSerial, entries: entries))
    }

    func makeFile(of generation: GenerationID, key: ResourceKey) -> any GenerationFile { BlobFile(self, generation, key) }

    func keep(_ entries: [KeptEntry]) throws(StoreError) {
        for entry in entries {
            let name = BlobName.entry(serial: nextSerial())
            let extents = entry.resource.flatMap { resource in (entry.file as? BlobFile)?.kept(resource.spans) } ?? []
            let isEmpty = entry.resource == nil && !entry.isPinned
            if !isEmpty { try put(BlobEntry(entry, extents).encoded(name), as: name) }
            let before = state.withLock { exchange(&$0.entries[entry.key], with: isEmpty ? nil : name) }
            if let before { try remove(before) }
        }
    }

    func close(lastGeneration: GenerationID) throws(StoreError) {
        let name = BlobName.lastGeneration(lastGeneration, serial: nextSerial())
        defer { state.withLock { $0.isClosed = true } }
        // An empty blob says no more than its name, and some places have none.
        try put([0], as: name)
        for (old, _) in try BlobOpening(blobs: blobs).names() where old.serial < name.serial {
            if case .lastGeneration = old { try remove(old) }
        }
    }

    func freeBytes() throws(StoreError) -> Int64? {
        try blobs.storing("freeBytes") { try blobs.freeBytes() }
    }

    // MARK: Blobs

    func nextSerial() -> Int64 {
        state.withLock { state in
            state.lastSerial = state.lastSerial.addingSaturated(1)
            return state.lastSerial
        }
    }

    func put(_ bytes: [UInt8], as name: BlobName) throws(StoreError) {
        guard !state.withLock({ $0.isClosed }) else { throw .closed }
        try blobs.storing("put") { try blobs.put(bytes, as: name.text) }
    }

    func read(_ name: BlobName, count: Int) throws(StoreError) -> [UInt8] {
        try blobs.storing("read") { try blobs.read(0..<count, of: name.text) }
    }

    func remove(_ name: BlobName) throws(StoreError) { try blobs.storing("remove") { try blobs.remove(name.text) } }
}
