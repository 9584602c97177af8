/// The system's random numbers, suitable for tokens and boundaries.
package final class SystemRandom: RandomSource {
    /// Creates a source; it is stateless.
    package init() {}

    /// Returns the next random number.
    package func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}

/// Random numbers that follow from a seed (SplitMix64), for tests and simulation. Never for
/// secrets.
package final class SeededRandom: RandomSource, RandomNumberGenerator {
    private let state: Locked<UInt64>

    /// Creates a source from a seed.
    package init(seed: UInt64) {
        state = Locked(seed)
    }

    /// Returns the next number of the sequence.
    package func next() -> UInt64 {
        let counter = state.withLock { (state: inout UInt64) -> UInt64 in
            state &+= 0x9E37_79B9_7F4A_7C15
            return state
        }
        var mixed = counter
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension RandomSource {
    /// Returns a number in `0..<bound`; `bound` is not 0.
    ///
    /// The remainder favours small numbers by less than `bound` / 2⁶⁴, which is negligible here.
    package func next(below bound: UInt64) -> UInt64 {
        precondition(bound > 0, "there is no number below 0")
        return next() % bound
    }

    /// Returns `count` random bytes.
    package func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        while bytes.count < count {
            let number = next()
            for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Returns true with a probability of `numerator` / `denominator`.
    package func chance(_ numerator: UInt64, in denominator: UInt64) -> Bool {
        next(below: denominator) < numerator
    }
}
