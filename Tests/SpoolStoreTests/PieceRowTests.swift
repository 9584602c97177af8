import SpoolCore
import SpoolStore
import Testing

@Suite struct PieceRowTests {
    private let block = Piece.blockBytes
    private let group = PieceRow.groupBytes

    private func rows(_ range: Range<Int64>, checks: PieceChecks? = nil) -> [Range<Int64>] {
        guard let range = ByteRange(range) else { return [] }
        return PieceRow.rows(of: Piece(range: range, checks: checks), epoch: 1).map { $0.range.lowerBound..<$0.range.upperBound }
    }

    /// Returns one checksum for each block: its number, four times.
    private func checks(_ blocks: Range<Int>) -> PieceChecks {
        PieceChecks(.crc32c, blocks.flatMap { [UInt8](repeating: UInt8($0), count: PieceChecks.Kind.crc32c.byteCount) })
    }

    /// Returns a nonce and a tag for each block.
    private func seals(_ blocks: Range<Int>) -> PieceChecks {
        PieceChecks(.sealed, blocks.flatMap { [UInt8](repeating: UInt8($0), count: PieceChecks.Kind.sealed.byteCount) })
    }

    @Test func `a piece inside a block is one row`() {
        #expect(rows(10..<20) == [10..<20])
        #expect(rows(0..<block) == [0..<block])
        #expect(rows((block - 1)..<block) == [(block - 1)..<block])
    }

    @Test func `ragged edges are separate rows`() {
        #expect(rows(10..<(3 * block + 5)) == [10..<block, block..<(3 * block), (3 * block)..<(3 * block + 5)])
        #expect(rows(10..<(block + 5)) == [10..<block, block..<(block + 5)])
    }

    @Test func `a run of blocks is cut at the borders of groups`() {
        #expect(
            rows((group - block)..<(2 * group + block)) == [
                (group - block)..<group, group..<(2 * group), (2 * group)..<(2 * group + block),
            ])
    }

    @Test func `rows reach up to the largest offset`() {
        let last = Int64.max
        #expect(rows((last - 5)..<last) == [(last - 5)..<last])
        #expect(rows((last - block - 5)..<last).last?.upperBound == last)
    }

    /// Tests every range with ends near the borders of blocks and groups: its rows add up to the
    /// range and keep the rules.
    @Test func `the rows of a piece add up to it and keep the rules`() {
        let borders = [0, 1, block - 1, block, block + 1, 2 * block, group - 1, group, group + 1, 2 * group - block, 2 * group]
        for lower in borders {
            for upper in borders where lower < upper {
                let rows = PieceRow.rows(of: Piece(range: ByteRange(lower: lower, upper: upper)), epoch: 1)
                #expect(rows.first?.range.lowerBound == lower && rows.last?.range.upperBound == upper)
                #expect(zip(rows, rows.dropFirst()).allSatisfy { $0.range.upperBound == $1.range.lowerBound })
                #expect(rows.allSatisfy { $0.isShaped }, "\(lower)..<\(upper)")
            }
        }
    }

    @Test func `checksums stay with their blocks when a piece is cut`() {
        let piece = Piece(range: ByteRange(lower: 7, upper: 3 * block + 1), checks: checks(0..<4))
        let rows = PieceRow.rows(of: piece, epoch: 1)
        #expect(rows.map(\.checks) == [checks(0..<1), checks(1..<3), checks(3..<4)])
    }

    @Test func `a plain row loses exactly the removed bytes`() {
        let row = PieceRow(range: ByteRange(lower: 0, upper: 3 * block), epoch: 9)
        let left = row.removing(ByteRange(lower: block + 1, upper: block + 2))
        #expect(left.map(\.range.lowerBound) == [0, block, block + 2, 2 * block])
        #expect(left.map(\.range.upperBound) == [block, block + 1, 2 * block, 3 * block])
        #expect(left.allSatisfy { $0.epoch == 9 && $0.isShaped })
    }

    @Test func `a row with checksums loses every touched block`() {
        let row = PieceRow(range: ByteRange(lower: 0, upper: 5 * block), epoch: 9, checks: checks(0..<5))
        let left = row.removing(ByteRange(lower: 2 * block + 1, upper: 3 * block + 1))
        #expect(left.map(\.range) == [ByteRange(lower: 0, upper: 2 * block), ByteRange(lower: 4 * block, upper: 5 * block)])
        #expect(left.map(\.checks) == [checks(0..<2), checks(4..<5)])
    }

    @Test func `rows merge inside a block, and whole blocks inside a group`() {
        func merged(_ a: Range<Int64>, _ b: Range<Int64>) -> Bool {
            guard let a = ByteRange(a), let b = ByteRange(b) else { return false }
            return PieceRow(range: a, epoch: 1).merged(with: PieceRow(range: b, epoch: 1)) != nil
        }
        #expect(merged(0..<10, 10..<20))
        #expect(merged(0..<10, 10..<block))
        #expect(merged(0..<block, block..<(2 * block)))
        #expect(!merged(0..<10, 11..<20))
        #expect(!merged(10..<block, block..<(2 * block)))
        #expect(!merged(0..<block, block..<(block + 1)))
        #expect(!merged((group - block)..<group, group..<(group + block)))
    }

    @Test func `whole blocks with one kind of checks merge`() {
        for make in [checks, seals] {
            let first = PieceRow(range: ByteRange(lower: 0, upper: block), epoch: 1, checks: make(0..<1))
            let second = PieceRow(range: ByteRange(lower: block, upper: 3 * block), epoch: 2, checks: make(1..<3))
            #expect(first.merged(with: second) == PieceRow(range: ByteRange(lower: 0, upper: 3 * block), epoch: 2, checks: make(0..<3)))
            let plain = PieceRow(range: ByteRange(lower: block, upper: 2 * block), epoch: 1)
            #expect(first.merged(with: plain) == nil)
            let edge = PieceRow(range: ByteRange(lower: block, upper: block + 5), epoch: 1, checks: make(1..<2))
            #expect(first.merged(with: edge) == nil)
        }
        let crc = PieceRow(range: ByteRange(lower: 0, upper: block), epoch: 1, checks: checks(0..<1))
        #expect(crc.merged(with: PieceRow(range: ByteRange(lower: block, upper: 2 * block), epoch: 1, checks: seals(1..<2))) == nil)
    }

    @Test func `two seals in one block do not merge`() {
        let part = PieceRow(range: ByteRange(lower: 0, upper: 5), epoch: 1, checks: seals(0..<1))
        let rest = PieceRow(range: ByteRange(lower: 5, upper: block), epoch: 1, checks: seals(0..<1))
        #expect(part.merged(with: rest) == nil)
    }
}
