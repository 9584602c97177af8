public import SpoolCore
import SpoolSystem

/// A resource on its way to another key: its bytes are opened by the one and sealed by the other, into the file of a new generation.
///
/// The file that it comes from stays as it is and can be read meanwhile. What is kept in memory are the seals, 28 bytes for 64 KiB.
public struct ResealedCopy: Sendable {
    public let resource: StoredResource
    public let generation: GenerationID
    /// Nil where nothing is stored.
    let source: StoreDataFile?
    let target: StoreDataFile?
    private let directories: [String]
    private let fileSystem: any FileSystem
    private var pieces: [Piece] = []
    /// Bytes that are in the new file.
    public private(set) var copied = ByteRangeSet()

    /// The most bytes that are opened and sealed at a time.
    static let turnBytes: Int64 = 1 << 20
    /// The most bytes that one call of `copy` takes: what a row of the index has seals for.
    public static let runBytes = PieceRow.groupBytes

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

    /// The next stored bytes at or after `position`, to the end of their group; nil behind the last ones.
    public func nextRun(at position: Int64, of spans: ByteRangeSet) -> ByteRange? {
        guard let run = spans.firstRange(atOrAfter: position) else { return nil }
        let end = (run.lowerBound / Self.runBytes).nextMultiple(of: Self.runBytes)
        return ByteRange(run.lowerBound, min(run.upperBound, end))
    }

    /// Copies a run of stored bytes. Blocks on the disk: on the data lane of the new generation. Answers with what does not open.
    ///
    /// - Parameter pieces: what the index says of the run.
    public mutating func copy(_ run: ByteRange, _ pieces: [Piece]) throws(StoreError) -> ByteRangeSet {
        guard let source, let target else { return ByteRangeSet() }
        var damaged = ByteRangeSet(source.admit(pieces).map(\.range))
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

    /// Copies a turn; what does not open is found block by block.
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

    /// Makes the copy durable, with the names that lead to it. Blocks on the disk: on the data lane of the new generation.
    public func synchronize() throws(StoreError) {
        guard let target else { return }
        do throws(SystemError) {
            try target.use().synchronize(full: false)
            for directory in directories { try fileSystem.synchronizeDirectory(directory) }
        } catch { throw StoreError(error) }
    }

    /// What claims the copied bytes, with the facts that the index has now.
    func commit(_ facts: StoredResource) -> StoreCommit {
        StoreCommit(
            key: facts.key, url: facts.url, generation: generation, representation: facts.representation,
            fileExtension: facts.fileExtension, pieces: pieces, time: facts.lastAccess)
    }
}
