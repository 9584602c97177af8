package import SpoolCore

/// Keeps the contents of a `MemoryStore` longer than the process.
package protocol StoreBacking: AnyObject, Sendable {
    /// Returns the file of a new generation. May be called on any thread and does not block.
    func makeFile(of generation: GenerationID, key: ResourceKey) -> any GenerationFile
    /// Keeps the present state of some keys. Index call.
    func keep(_ entries: [KeptEntry]) throws(StoreError)
    /// Ends the use of the backing, which has every entry.
    func close(lastGeneration: GenerationID) throws(StoreError)
    /// Returns the bytes that can still be stored, or nil when that is not known. Index call.
    func freeBytes() throws(StoreError) -> Int64?
}

/// The state of one key for a backing.
package struct KeptEntry: Sendable {
    package var key: ResourceKey
    /// The resource, or nil when nothing is stored of it.
    package var resource: StoredResource?
    package var isPinned: Bool
    /// The file of the resource's generation, if one was made.
    package var file: (any GenerationFile)?

    /// Creates the state of a key.
    package init(key: ResourceKey, resource: StoredResource?, isPinned: Bool, file: (any GenerationFile)?) {
        self.key = key
        self.resource = resource
        self.isPinned = isPinned
        self.file = file
    }
}

/// The file of a generation in a `MemoryStore`.
package protocol GenerationFile: DataFile {
    /// The apparent size, in bytes.
    var size: Int64 { get }
    /// The room of the bytes, in bytes.
    var allocatedBytes: Int64 { get }
    /// Whether the generation was permanently removed from the store. Holders of the file may
    /// still read it.
    var isRetired: Bool { get }
    /// Notes that the generation was permanently removed.
    func retire()
}
