package import SpoolCore
import SpoolSystem

/// A copy of a resource during a key rotation. It opens the bytes with the previous key, or compares
/// plain ones with their checks, and seals them with the current key into the file of a new
/// generation.
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
        let damage = source.admit(pieces)
        if let cause = damage.compactMap(\.cause).first { throw cause }
        var damaged = ByteRangeSet(damage.map(\.range))
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(Self.turnBytes), alignment: 4096)
        defer {
            EncryptionKey.wipe(bytes)
            bytes.deallocate()
        }
        let stored = ByteRangeSet(pieces.map(\.range)).intersection(run).subtracting(damaged)
        for span in stored.ranges {
            var position = span.lowerBound
            while let turn = ByteRange(position, min(span.upperBound, Self.endOfTurn(position))) {
                damaged.formUnion(
                    try copy(turn, from: source, to: target, UnsafeMutableRawBufferPointer(rebasing: bytes[..<Int(turn.count)])))
                position = turn.upperBound
            }
        }
        return damaged
    }

    private static func endOfTurn(_ position: Int64) -> Int64 { (position / turnBytes).nextMultiple(of: turnBytes) }

    /// Copies up to `turnBytes`. If they do not all open, copies block by block to find the damaged
    /// blocks.
    private mutating func copy(
        _ turn: ByteRange, from source: StoreDataFile, to target: StoreDataFile, _ bytes: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> ByteRangeSet {
        let isWhole: Bool
        do throws(StoreError) { isWhole = try source.read(into: bytes, at: turn.lowerBound) == bytes.count } catch {
            guard case .corrupt = error else { throw error }
            isWhole = false
        }
        if isWhole {
            pieces += try target.write(UnsafeRawBufferPointer(bytes), at: turn.lowerBound)
            copied.insert(turn)
            return ByteRangeSet()
        }
        let blocks = ByteRangeSet([turn])
        guard turn.blockCount > 1 else { return blocks }
        var damaged = ByteRangeSet()
        for block in Piece(range: turn).blockRanges {
            let part = UnsafeMutableRawBufferPointer(rebasing: bytes[..<Int(block.count)])
            damaged.formUnion(try copy(block, from: source, to: target, part))
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
