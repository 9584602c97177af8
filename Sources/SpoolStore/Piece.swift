public import SpoolCore

/// Stored bytes of one generation that were written together, with what tells whether they still are what was written.
///
/// A piece may cover many blocks, the first and the last of them in part; the index cuts it by its own rules.
public struct Piece: Hashable, Sendable {
    public var range: ByteRange
    /// One check for each block that the range touches, over the bytes of the piece in that block. Nil where the store makes none.
    public var checks: PieceChecks?

    /// - Precondition: `checks`, where there are any, are one for each block.
    public init(range: ByteRange, checks: PieceChecks? = nil) {
        precondition(checks.map { $0.count == range.blockCount } ?? true, "a piece has one check for each of its blocks: \(range)")
        self.range = range
        self.checks = checks
    }

    /// The unit of integrity, in bytes.
    public static let blockBytes: Int64 = 65_536
}

/// The checks of the blocks of a piece, all of one kind.
public struct PieceChecks: Hashable, Sendable {
    /// What a check is.
    public enum Kind: Hashable, Sendable {
        /// A CRC32C of the bytes, little-endian.
        case crc32c
        /// The nonce that the bytes were sealed with, 12 bytes, and their tag, 16 bytes.
        case sealed

        /// The bytes of one check.
        public var byteCount: Int {
            switch self {
            case .crc32c: 4
            case .sealed: PieceChecks.nonceBytes + PieceChecks.tagBytes
            }
        }
    }

    /// The bytes of a sealed block's nonce.
    public static let nonceBytes = 12
    /// The bytes of a sealed block's tag.
    public static let tagBytes = 16

    public let kind: Kind
    /// The checks of one block after the other, `kind.byteCount` bytes each.
    public private(set) var bytes: [UInt8]

    /// - Precondition: `bytes` are whole checks, and at least one.
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

    /// Adds the checks of the blocks that follow, which are of the same kind.
    mutating func append(_ next: PieceChecks) {
        precondition(next.kind == kind, "a piece has checks of one kind")
        bytes += next.bytes
    }

    /// Puts another check in the place of the last one.
    mutating func replaceLast(_ check: some Collection<UInt8>) {
        bytes.replaceSubrange((bytes.count - kind.byteCount)..., with: check)
    }
}

// MARK: - Cutting and joining

extension Piece {
    /// The blocks of the piece that `range` touches, each whole or as far as the piece has it; nil when there are none.
    package func blocks(touching range: ByteRange) -> Piece? {
        range.widenedToBlocks.intersection(self.range).map(part)
    }

    /// What stays when the bytes of `range` go.
    ///
    /// A check covers all bytes of a block that the piece has, so a piece with checks loses every block that `range` touches.
    package func removing(_ range: ByteRange) -> [Piece] {
        let cut = checks == nil ? range : range.widenedToBlocks
        let left = ByteRange(self.range.lowerBound, min(self.range.upperBound, cut.lowerBound))
        let right = ByteRange(max(self.range.lowerBound, cut.upperBound), self.range.upperBound)
        return [left, right].compactMap { $0.map(part) }
    }

    /// The one piece that this and the following one are together; nil when they do not touch, or their checks do not add up.
    ///
    /// Where they share a block, its CRC32C follows from the two; two seals are never one.
    package func joined(with next: Piece) -> Piece? {
        var joined = self
        return joined.join(next) ? joined : nil
    }

    /// Adds the piece that follows, without a copy of the checks that are there; false, and nothing is changed, when the two are not one.
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

    /// The piece of some of this piece's bytes, with their checks.
    ///
    /// - Precondition: `part` begins and ends with the piece or at the borders of blocks, unless there are no checks.
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
    /// The CRC32C of a block whose first part has the last of these checks and whose rest, of `nextCount` bytes, the first of `next`.
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

    /// The whole blocks inside the range; nil when there are none.
    package var wholeBlocks: ByteRange? {
        let first = lowerBound % Piece.blockBytes == 0 ? lowerBound : (lowerBound / Piece.blockBytes).nextMultiple(of: Piece.blockBytes)
        return ByteRange(first, upperBound - upperBound % Piece.blockBytes)
    }

    /// The bytes of the range in the block of this number, counted from its first.
    fileprivate func inBlock(_ number: Int) -> ByteRange {
        let block = lowerBound / Piece.blockBytes + Int64(number)
        return ByteRange(
            lower: max(lowerBound, block * Piece.blockBytes), upper: min(upperBound, block.nextMultiple(of: Piece.blockBytes)))
    }
}

extension Int64 {
    /// `(self + 1) * unit`, or the largest offset where that is beyond it.
    func nextMultiple(of unit: Int64) -> Int64 {
        let (product, overflow) = (self + 1).multipliedReportingOverflow(by: unit)
        return overflow ? .max : product
    }
}
