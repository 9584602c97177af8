public import SpoolCore

/// Stored bytes of one generation that were written together, with the checks that verify them.
///
/// A piece may cover many blocks, and may cover the first and the last one in part. The index
/// divides it by its own rules.
public struct Piece: Hashable, Sendable {
    /// The bytes of the piece.
    public var range: ByteRange
    /// One check for each block that the range touches. It covers the bytes of the piece in that
    /// block. Nil when the store makes no checks.
    public var checks: PieceChecks?

    /// Creates a piece.
    ///
    /// - Precondition: `checks`, if there are any, have one check for each block.
    public init(range: ByteRange, checks: PieceChecks? = nil) {
        precondition(checks.map { $0.count == range.blockCount } != false, "a piece has one check for each of its blocks: \(range)")
        self.range = range
        self.checks = checks
    }

    /// The size of a block, the unit of integrity, in bytes.
    public static let blockBytes: Int64 = 65_536
}

/// The checks of the blocks of a piece, all of one kind.
public struct PieceChecks: Hashable, Sendable {
    /// The kind of a check.
    public enum Kind: Hashable, Sendable {
        /// A CRC32C of the bytes, little-endian.
        case crc32c
        /// The nonce and the tag of a sealed block: 12 bytes and 16 bytes.
        case sealed

        /// The size of one check, in bytes.
        public var byteCount: Int {
            switch self {
            case .crc32c: 4
            case .sealed: PieceChecks.nonceBytes + PieceChecks.tagBytes
            }
        }
    }

    /// The size of a sealed block's nonce, in bytes.
    public static let nonceBytes = 12
    /// The size of a sealed block's tag, in bytes.
    public static let tagBytes = 16

    /// The kind of all checks.
    public let kind: Kind
    /// The checks of the blocks in order, `kind.byteCount` bytes each.
    public private(set) var bytes: [UInt8]

    /// Creates checks from their bytes.
    ///
    /// - Precondition: `bytes` consists of whole checks, at least one.
    public init(_ kind: Kind, _ bytes: [UInt8]) {
        precondition(!bytes.isEmpty && bytes.count % kind.byteCount == 0, "\(bytes.count) bytes are no checks of \(kind)")
        self.kind = kind
        self.bytes = bytes
    }

    /// The number of blocks.
    public var count: Int { bytes.count / kind.byteCount }

    /// The check of one block.
    public subscript(block: Int) -> ArraySlice<UInt8> {
        bytes[block * kind.byteCount..<(block + 1) * kind.byteCount]
    }

    /// The checks of some of the blocks.
    public subscript(blocks: Range<Int>) -> PieceChecks {
        PieceChecks(kind, Array(bytes[blocks.lowerBound * kind.byteCount..<blocks.upperBound * kind.byteCount]))
    }

    /// Appends the checks of the following blocks, which are of the same kind.
    mutating func append(_ next: PieceChecks) {
        precondition(next.kind == kind, "a piece has checks of one kind")
        bytes += next.bytes
    }

    /// Replaces the last check.
    mutating func replaceLast(_ check: some Collection<UInt8>) {
        bytes.replaceSubrange((bytes.count - kind.byteCount)..., with: check)
    }
}

// MARK: - Cutting and joining

extension Piece {
    /// Returns the blocks of the piece that `range` touches, if there are any. Blocks at the edges
    /// of the piece may be partial.
    package func blocks(touching range: ByteRange) -> Piece? {
        range.widenedToBlocks.intersection(self.range).map(part)
    }

    /// Returns the pieces that remain without the bytes of `range`.
    ///
    /// A check covers all bytes of the piece in a block, so a piece with checks loses every block
    /// that `range` touches.
    package func removing(_ range: ByteRange) -> [Piece] {
        let cut = checks == nil ? range : range.widenedToBlocks
        let left = ByteRange(self.range.lowerBound, min(self.range.upperBound, cut.lowerBound))
        let right = ByteRange(max(self.range.lowerBound, cut.upperBound), self.range.upperBound)
        return [left, right].compactMap { $0.map(part) }
    }

    /// Returns this piece and the following one as one piece, or nil when they are not adjacent or
    /// their checks can't be joined.
    ///
    /// If both have a part of the same block, its CRC32C is computed from the two checks. Two seals
    /// can't be combined.
    package func joined(with next: Piece) -> Piece? {
        var joined = self
        return joined.join(next) ? joined : nil
    }

    /// Appends the following piece, without copying the existing checks. Returns false and leaves
    /// everything as it was when the two can't be joined.
    package mutating func join(_ next: Piece) -> Bool {
        guard range.upperBound == next.range.lowerBound, checks?.kind == next.checks?.kind else { return false }
        if let nextChecks = next.checks {
            if range.upperBound % Piece.blockBytes == 0 {
                checks?.append(nextChecks)
            } else {
                guard let shared = checks?.combinedCRC32C(with: nextChecks, nextCount: next.firstBlockRange.count) else { return false }
                checks?.replaceLast(shared)
                if nextChecks.count > 1 { checks?.append(nextChecks[1..<nextChecks.count]) }
            }
        }
        range = ByteRange(lower: range.lowerBound, upper: next.range.upperBound)
        return true
    }

    /// Returns the piece of some of this piece's bytes, with their checks.
    ///
    /// - Precondition: `part` begins and ends at an edge of the piece or at a block border, unless
    ///   there are no checks.
    package func part(_ part: ByteRange) -> Piece {
        guard let checks else { return Piece(range: part) }
        let first = Int(part.lowerBound / Piece.blockBytes - range.lowerBound / Piece.blockBytes)
        return Piece(range: part, checks: checks[first..<first + part.blockCount])
    }

    /// The bytes of the piece in each of its blocks, in order.
    package var blockRanges: some Sequence<ByteRange> {
        let range = range
        return (0..<range.blockCount).lazy.map { range.inBlock($0) }
    }

    private var firstBlockRange: ByteRange { range.inBlock(0) }
}

extension PieceChecks {
    /// Returns the CRC32C of a block that two pieces share. The last of these checks covers its
    /// first part. The first check of `next` covers the other part, of `nextCount` bytes.
    fileprivate func combinedCRC32C(with next: PieceChecks, nextCount: Int64) -> [UInt8]? {
        guard kind == .crc32c else { return nil }
        return CRC32CBytes.encode(
            CRC32CBytes.combined(CRC32CBytes.decode(self[count - 1]), CRC32CBytes.decode(next[0]), secondCount: nextCount))
    }
}

extension ByteRange {
    /// The number of blocks that the range touches.
    package var blockCount: Int {
        Int((upperBound - 1) / Piece.blockBytes - lowerBound / Piece.blockBytes) + 1
    }

    /// The range from the beginning of its first block to the end of its last.
    package var widenedToBlocks: ByteRange {
        ByteRange(
            lower: lowerBound - lowerBound % Piece.blockBytes,
            upper: ((upperBound - 1) / Piece.blockBytes).nextMultiple(of: Piece.blockBytes))
    }

    /// The whole blocks inside the range, if there are any.
    package var wholeBlocks: ByteRange? {
        let first = lowerBound % Piece.blockBytes == 0 ? lowerBound : (lowerBound / Piece.blockBytes).nextMultiple(of: Piece.blockBytes)
        return ByteRange(first, upperBound - upperBound % Piece.blockBytes)
    }

    /// Returns the bytes of the range in the block with this number, counted from the range's first
    /// block.
    fileprivate func inBlock(_ number: Int) -> ByteRange {
        let block = lowerBound / Piece.blockBytes + Int64(number)
        return ByteRange(
            lower: max(lowerBound, block * Piece.blockBytes), upper: min(upperBound, block.nextMultiple(of: Piece.blockBytes)))
    }
}

extension Int64 {
    /// Returns `(self + 1) * unit`, or the largest integer if that overflows.
    func nextMultiple(of unit: Int64) -> Int64 {
        let (product, overflow) = (self + 1).multipliedReportingOverflow(by: unit)
        return overflow ? .max : product
    }
}
