import Foundation

/// A generator whose whole sequence follows from one number (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// Returns a generator with the seed in `SPOOL_SEED`, or else 1, or a random seed in a nightly
    /// run. Prints the seed, so that a failure can be replayed.
    static func fromEnvironment(_ test: String = #function) -> SeededGenerator {
        let given = ProcessInfo.processInfo.environment["SPOOL_SEED"].flatMap { UInt64($0) }
        let isNightly = ProcessInfo.processInfo.environment["SPOOL_DEPTH"] == "nightly"
        let seed = given ?? (isNightly ? .random(in: 1...UInt64(UInt32.max)) : 1)
        print("\(test): SPOOL_SEED=\(seed)")
        return SeededGenerator(seed: seed)
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
