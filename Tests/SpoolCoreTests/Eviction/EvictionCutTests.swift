import SpoolCore
import Testing

/// Tests which blocks of one resource are evicted. The blocks have 10 bytes, so that the cases are
/// easy to read.
@Suite struct EvictionCutTests {
    struct Case: CustomStringConvertible, Sendable {
        var what: String
        var stored: [Range<Int64>]
        var protected: [Range<Int64>] = []
        var regions: [EvictionCut.Region] = []
        var wanted: Int64
        var gone: [Range<Int64>]

        var description: String { what }
    }

    private static func region(_ range: Range<Int64>, isTailFirst: Bool = true) -> EvictionCut.Region {
        EvictionCut.Region(ByteRange(lower: range.lowerBound, upper: range.upperBound), isTailFirst: isTailFirst)
    }

    static let cases = [
        Case(what: "nothing wanted, nothing gone", stored: [0..<100], wanted: 0, gone: []),
        Case(what: "nothing stored, nothing gone", stored: [], wanted: 10, gone: []),
        Case(what: "the tail goes first", stored: [0..<100], wanted: 20, gone: [80..<100]),
        Case(what: "a part of a block counts as the whole of it", stored: [0..<100], wanted: 11, gone: [80..<100]),
        Case(what: "a ragged end is one block", stored: [0..<95], wanted: 5, gone: [90..<100]),
        Case(what: "a ragged end that is not enough takes the next block", stored: [0..<95], wanted: 6, gone: [80..<100]),
        Case(what: "a ragged beginning goes with its block", stored: [5..<30], wanted: 99, gone: [0..<30]),
        Case(what: "two spans in one block go together", stored: [0..<3, 6..<9], wanted: 1, gone: [0..<10]),
        Case(what: "all of it when all is wanted", stored: [0..<100], wanted: 1000, gone: [0..<100]),
        Case(what: "spans from the last to the first", stored: [0..<20, 40..<60, 80..<90], wanted: 20, gone: [50..<60, 80..<90]),
        Case(what: "a protected byte saves its block", stored: [0..<100], protected: [95..<96], wanted: 20, gone: [70..<90]),
        Case(what: "what is protected stays whatever is wanted", stored: [0..<100], protected: [0..<100], wanted: 1000, gone: []),
        Case(what: "a protected gap saves its block as well", stored: [0..<14], protected: [16..<17], wanted: 100, gone: [0..<10]),
        Case(what: "the head goes last", stored: [0..<40], regions: [region(0..<20)], wanted: 30, gone: [10..<40]),
        Case(what: "the head stays while there is else", stored: [0..<40], regions: [region(0..<20)], wanted: 20, gone: [20..<40]),
        Case(
            what: "regions in their order: the end of the resource, then its head", stored: [0..<100],
            regions: [region(90..<100), region(0..<20)], wanted: 90, gone: [10..<100]),
        Case(
            what: "the end of the resource stays while there is else", stored: [0..<100], regions: [region(90..<100), region(0..<20)],
            wanted: 60, gone: [30..<90]),
        Case(
            what: "a region may go from its beginning: what a player left behind", stored: [0..<100],
            protected: [60..<80], regions: [region(10..<60, isTailFirst: false), region(0..<10)], wanted: 40, gone: [10..<30, 80..<100]),
        Case(
            what: "a byte in two regions belongs to the later one", stored: [0..<30], regions: [region(0..<30), region(0..<10)],
            wanted: 20, gone: [10..<30]),
    ]

    @Test(arguments: cases)
    func `blocks are evicted in order and whole`(row: Case) {
        var cut = EvictionCut(blockBytes: 10)
        cut.protected = ByteRangeSet(row.protected.compactMap { ByteRange($0) })
        cut.regions = row.regions
        let gone = cut.blocks(of: ByteRangeSet(row.stored.compactMap { ByteRange($0) }), wanted: row.wanted)
        #expect(gone == ByteRangeSet(row.gone.compactMap { ByteRange($0) }))
    }

    @Test func `random cuts evict only whole unprotected blocks, and enough where possible`() {
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<2000 {
            func ranges(_ count: Int) -> ByteRangeSet {
                ByteRangeSet(
                    (0..<Int.random(in: 0...count, using: &generator)).compactMap { _ in
                        let lower = Int64.random(in: 0..<200, using: &generator)
                        return ByteRange(lower, lower + Int64.random(in: 1..<60, using: &generator))
                    })
            }
            let stored = ranges(5)
            var cut = EvictionCut(blockBytes: 10)
            cut.protected = ranges(3)
            cut.regions = ranges(2).ranges.map { EvictionCut.Region($0, isTailFirst: Bool.random(using: &generator)) }
            let wanted = Int64.random(in: 0..<250, using: &generator)
            let gone = cut.blocks(of: stored, wanted: wanted)
            #expect(gone.ranges.allSatisfy { $0.lowerBound % 10 == 0 && $0.upperBound % 10 == 0 })
            #expect(gone.intersection(cut.protected).isEmpty)
            let most = cut.blocks(of: stored, wanted: .max)
            #expect(gone.subtracting(most).isEmpty)
            #expect(stored.intersection(gone).totalBytes >= min(wanted, stored.intersection(most).totalBytes))
            // The cut takes no block more than it needs.
            #expect(stored.intersection(gone).totalBytes < wanted + 10 || wanted == 0)
        }
    }

    @Test func `a cut at the last offsets does not overflow`() {
        let cut = EvictionCut(blockBytes: 65_536)
        let gone = cut.blocks(of: ByteRangeSet([ByteRange(lower: .max - 70_000, upper: .max)]), wanted: 100_000)
        #expect(gone.ranges.allSatisfy { $0.lowerBound % 65_536 == 0 })
    }
}
