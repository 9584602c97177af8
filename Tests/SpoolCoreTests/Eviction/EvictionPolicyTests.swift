import SpoolCore
import Testing

/// Tests the order in which the policies evict resources.
@Suite struct EvictionPolicyTests {
    private static let now = Timestamp(seconds: 1_000_000)

    private static func candidate(_ key: String, bytes: Int64, idleSeconds: Int64) -> EvictionCandidate {
        EvictionCandidate(
            key: ResourceKey(normalized: key), allocatedBytes: bytes, length: nil,
            lastAccess: Timestamp(seconds: now.seconds - idleSeconds))
    }

    /// The resources in the order of the index: longest unused first.
    private static let candidates = [
        candidate("old song", bytes: 4 << 20, idleSeconds: 1000),
        candidate("old film", bytes: 1 << 30, idleSeconds: 900),
        candidate("empty", bytes: 0, idleSeconds: 800),
        candidate("new film", bytes: 2 << 30, idleSeconds: 10),
        candidate("new song", bytes: 4 << 20, idleSeconds: 0),
    ]

    private func keys(_ policy: any EvictionPolicy, _ candidates: [EvictionCandidate] = candidates) -> [String] {
        policy.order(candidates, now: Self.now).map(\.key.string)
    }

    @Test func `LeastRecentlyUsed evicts the longest unused resource first`() {
        #expect(keys(LeastRecentlyUsed()) == ["old song", "old film", "empty", "new film", "new song"])
    }

    @Test func `LargestFirst evicts films before songs, and the longest unused first`() {
        #expect(keys(LargestFirst()) == ["old film", "new film", "old song", "new song", "empty"])
    }

    @Test func `LargestFirst keeps the order of last use among equal weights`() {
        let equal = (0..<20).map { Self.candidate("\($0)", bytes: 100, idleSeconds: 50) }
        #expect(keys(LargestFirst(), equal) == equal.map(\.key.string))
    }

    @Test func `LargestFirst tolerates a clock that was set back`() {
        let future = [Self.candidate("a", bytes: 1, idleSeconds: -5000), Self.candidate("b", bytes: 2, idleSeconds: -5000)]
        #expect(keys(LargestFirst(), future) == ["b", "a"])
    }

    @Test func `KeepHeads leaves the order to another policy`() {
        #expect(keys(KeepHeads()) == keys(LeastRecentlyUsed()))
        #expect(keys(KeepHeads(bytes: 5, otherwise: LargestFirst())) == keys(LargestFirst()))
        #expect(KeepHeads().keptHeadBytes == 1 << 20)
        #expect(KeepHeads(bytes: 5).keptHeadBytes == 5)
        #expect(LeastRecentlyUsed().keptHeadBytes == 0)
    }

    @Test func `a policy neither invents nor duplicates a candidate`() {
        for policy in [LeastRecentlyUsed(), LargestFirst(), KeepHeads()] as [any EvictionPolicy] {
            let order = policy.order(Self.candidates, now: Self.now)
            #expect(Set(order) == Set(Self.candidates))
            #expect(order.count == Self.candidates.count)
            #expect(policy.order([], now: Self.now).isEmpty)
        }
    }
}
