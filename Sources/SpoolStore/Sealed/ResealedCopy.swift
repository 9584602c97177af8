package import SpoolCore
import SpoolSystem

/// A copy of a resource during a key rotation. It opens the bytes with the previous key, or compares
/// plain ones with their checks, and seals them with the current key into the file of a new
/// generation. No durable point syncs that file: the system reports a failed write only once, and
/// the copy has to see it.
///
/// The original file stays unchanged and readable meanwhile. The copy keeps only the seals in
/// memory, 28 bytes for each 64 KiB.
package struct ResealedCopy: Sendable {
    /// The resource that is copied.
    package let resource: StoredResource
    /// The new generation.
    package let generation: GenerationID
    /// Nil when nothing is stored.
    let source: StoreDataFile?
    let target: StoreDataFile?
    private let directories: [String]
    private let fileSystem: any FileSystem
    private var pieces: [Piece] = []
    /// The bytes that are in the new file.
    package private(set) var copied = ByteRangeSet()

    /// The maximum number of bytes that are opened and sealed at a time.
    static let turnBytes: Int64 = 1 << 20

    init(
        resource: StoredResource, generation: GenerationID, source: StoreDataFile?, target: StoreDataFile?, directories: [String],
        fileSystem: any FileSystem
    ) {
        self.resource = resource
        self.generation = generation
        self.source = source
        self.target = target
        self.directories = directories
        self.fileSystem = fileSystem
    }

    /// Copies a run of stored bytes (`ByteRangeSet.nextRun`). Blocks on the disk, so callers run it
    /// on the data lane of the new generation.
    ///
    /// - Parameter pieces: the pieces of the run in the index.
    /// - Returns: the bytes that do not open.
    package mutating func copy(_ run: ByteRange, _ pieces: [Piece]) throws(StoreError) -> ByteRangeSet {
        guard let source, let target else { return ByteRangeSet() }
        // A check covers all bytes of a piece in a block, so the copy has those blocks as a whole.
        let pieces = ByteRangeSet([run]).subtracting(copied).ranges.flatMap { gap in pieces.compactMap { $0.blocks(touching: gap) } }
        var damaged = ByteRangeSet()
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(Self.turnBytes), alignment: 4096)
        defer {
            EncryptionKey.wipe(bytes)
            bytes.deallocate()
        }
        for span in ByteRangeSet(pieces.map(\.range)).ranges {
            var position = span.lowerBound
            while let turn = ByteRange(position, min(span.upperBound, Self.endOfTurn(position))) {
                damaged.formUnion(try copy(turn, of: pieces, from: source, to: target, bytes))
                position = turn.upperBound
            }
        }
        return damaged
    }

    private static func endOfTurn(_ position: Int64) -> Int64 { (position / turnBytes).nextMultiple(of: turnBytes) }

    /// Copies up to `turnBytes`. If they do not all open, copies block by block to find the damaged
    /// blocks.
    private mutating func copy(
        _ turn: ByteRange, of stored: [Piece], from source: StoreDataFile, to target: StoreDataFile,
        _ memory: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> ByteRangeSet {
        let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<Int(turn.count)])
        // The bytes in memory are compared, because an eviction may punch the file at any moment.
        if try source.readSound(into: bytes, at: turn, of: stored.filter { $0.range.overlaps(turn) }) {
            pieces += try target.write(UnsafeRawBufferPointer(bytes), at: turn.lowerBound, isSyncedByPoint: false)
            copied.insert(turn)
            return ByteRangeSet()
        }
        let blocks = ByteRangeSet([turn])
        guard turn.blockCount > 1 else { return blocks }
        var damaged = ByteRangeSet()
        for block in Piece(range: turn).blockRanges {
            damaged.formUnion(try copy(block, of: stored, from: source, to: target, memory))
        }
        return damaged
    }

    /// Makes the copy and the directory entries of its file durable. Blocks on the disk, so callers
    /// run it on the data lane of the new generation.
    package func synchronize() throws(StoreError) {
        guard let target else { return }
        do throws(SystemError) {
            try target.use().synchronize(full: false)
            for directory in directories { try fileSystem.synchronizeDirectory(directory) }
        } catch { throw StoreError(error) }
    }

    /// Returns the commit of the copied bytes, with the current facts of the index.
    func commit(_ facts: StoredResource) -> StoreCommit {
        var commit = StoreCommit(facts)
        commit.generation = generation
        commit.pieces = pieces
        return commit
    }
}
