import SpoolCore

/// The bytes of a file that have arrived so far.
///
/// Reading absent bytes throws `MediaReadFailure.missing`, with the range to fetch. The caller adds
/// the bytes and runs its reader again.
struct KnownBytes {
    /// The length of the file, or nil while it is unknown.
    var length: Int64?
    /// Whether the file is read from its beginning to its end, so that a skip asks for the skipped
    /// bytes too. They belong to the plan, and one long read costs less than many short ones.
    var readsInOrder = false
    /// The number of bytes to ask for at once, at least.
    private let readBytes: Int64
    /// The longest skip whose bytes are asked for too.
    private let skipBytes: Int64
    /// The most bytes to keep.
    private let keptBytes: Int64
    /// The first unknown offset behind the bytes that arrived last.
    private var arrivedEnd: Int64 = 0
    /// Contiguous stretches in ascending order. Most files have one or two: head and index.
    private var pieces: [Piece] = []

    /// The number of known bytes.
    private var kept: Int64 { pieces.reduce(0) { $0 + Int64($1.bytes.count) } }

    private struct Piece {
        var offset: Int64
        var bytes: [UInt8]

        var end: Int64 { offset + Int64(bytes.count) }
    }

    init(length: Int64?, limits: MediaLimits) {
        self.length = length
        readBytes = limits.readBytes
        skipBytes = limits.skipBytes
        keptBytes = limits.keptBytes
    }

    /// Adds bytes that begin at `offset`. Bytes that are known already are skipped, and those beyond
    /// the bound are dropped.
    mutating func add(_ new: [UInt8], at offset: Int64) {
        let room = Int(clamping: keptBytes - kept)
        let bytes = new.count > room ? Array(new.prefix(max(0, room))) : new
        guard !bytes.isEmpty else { return }
        // The piece that ends at or behind the new bytes' beginning, and begins before it.
        if let index = pieces.lastIndex(where: { $0.offset <= offset && offset <= $0.end }) {
            append(bytes, at: offset, to: index)
            return mergeFollowing(index)
        }
        let index = pieces.firstIndex { $0.offset > offset } ?? pieces.endIndex
        pieces.insert(Piece(offset: offset, bytes: bytes), at: index)
        mergeFollowing(index)
    }

    private mutating func append(_ bytes: [UInt8], at offset: Int64, to index: Int) {
        let known = Int(pieces[index].end - offset)
        if known < bytes.count { pieces[index].bytes += bytes[known...] }
    }

    private mutating func mergeFollowing(_ index: Int) {
        while index + 1 < pieces.count, pieces[index + 1].offset <= pieces[index].end {
            let next = pieces.remove(at: index + 1)
            append(next.bytes, at: next.offset, to: index)
        }
        arrivedEnd = pieces[index].end
    }

    /// Releases bytes before `offset`. A reader that moves forward only calls this to keep memory
    /// bounded.
    ///
    /// - Complexity: Amortised O(1) for each byte, because a piece is cut when most of it is behind
    ///   `offset`.
    mutating func forget(before offset: Int64) {
        while let first = pieces.first, first.end <= offset { pieces.removeFirst() }
        guard let first = pieces.first, first.offset < offset else { return }
        let passed = offset - first.offset
        guard passed >= readBytes, passed >= first.end - offset else { return }
        pieces[0] = Piece(offset: offset, bytes: Array(first.bytes[Int(passed)...]))
    }

    /// Returns `count` bytes at `offset`.
    ///
    /// - Throws: `.missing` if some have not arrived, `.malformed` if the file ends before them, or
    ///   if they are too many to keep.
    func read(_ count: Int, at offset: Int64) throws(MediaReadFailure) -> ArraySlice<UInt8> {
        guard count > 0 else { return [] }
        guard offset >= 0, offset <= ByteRange.maximumOffset - Int64(count) else {
            throw .malformed("the file refers to byte \(offset), beyond the largest offset")
        }
        let end = offset + Int64(count)
        if let length, end > length { throw .malformed("the file ends at \(length), before byte \(end)") }
        if let piece = pieces.last(where: { $0.offset <= offset }), piece.end >= end {
            let start = Int(offset - piece.offset)
            return piece.bytes[start..<start + count]
        }
        throw missing(from: offset, to: end)
    }

    /// Whether the file has ended at `offset`. Without a length it has not.
    func isEnd(_ offset: Int64) -> Bool { length.map { offset >= $0 } ?? false }

    /// The failure that asks for the bytes from the first unknown one on, unless too many are kept
    /// already.
    private func missing(from offset: Int64, to end: Int64) -> MediaReadFailure {
        var lower = pieces.last { $0.offset <= offset && $0.end > offset }?.end ?? offset
        if readsInOrder, arrivedEnd < lower, lower - arrivedEnd <= skipBytes { lower = arrivedEnd }
        let next = pieces.first { $0.offset > lower }?.offset
        let upper = min(max(end, lower + readBytes), length ?? .max, next ?? .max)
        guard upper - lower <= keptBytes - kept else {
            return .malformed("the structure takes more than \(keptBytes) bytes of memory")
        }
        return .missing(ByteRange(lower: lower, upper: upper))
    }
}
