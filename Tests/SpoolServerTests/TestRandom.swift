import SpoolLibc

/// The seed of a random test: `SPOOL_SEED`, or a new one.
func testSeed() -> UInt64 {
    if let text = getenv("SPOOL_SEED"), let seed = UInt64(String(cString: text)) { return seed }
    return UInt64.random(in: 0...999_999)
}

/// A small generator (xorshift) with reproducible numbers from a seed.
struct TestRandom {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    }

    mutating func below(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int((state >> 11) % UInt64(bound))
    }
}
