import SpoolSystem

/// A filter of the keys that the index may contain. A caller whose key is certainly absent need not
/// wait for the index.
///
/// It is a Bloom filter of fixed size. It never misses a key that was inserted, but takes some
/// absent keys for present: one in a thousand with 10⁵ keys, most with 10⁶. Keys are SHA-256
/// hashes, so four parts of one hash serve as four hash functions. Safe to use from any thread.
final class KnownKeys: Sendable {
    /// The number of bits of the filter, a power of two: 256 KiB.
    private static let bitCount = 1 << 21
    /// The number of bits that represent a key.
    private static let probes = 4

    private struct State {
        var words: [UInt64] = []
        /// The last hash that was read from the index.
        var last: [UInt8] = []
        /// Whether every key that the index had at its opening was inserted.
        var isComplete = false
    }

    private let state = Locked(State())

    /// Inserts a key by its hash.
    func insert(_ hash: [UInt8]) {
        state.withLock { Self.insert(hash, &$0) }
    }

    /// Whether the index certainly does not contain the key with this hash.
    func excludes(_ hash: [UInt8]) -> Bool {
        guard hash.count >= Self.probes * 4 else { return false }
        return state.withLock { state in
            guard state.isComplete else { return false }
            guard !state.words.isEmpty else { return true }
            return (0..<Self.probes).contains { probe in
                let bit = Self.bit(probe, of: hash)
                return state.words[bit >> 6] & 1 << UInt64(bit & 63) == 0
            }
        }
    }

    /// The last hash that was read from the index, or nil when the whole index was read.
    var cursor: [UInt8]? { state.withLock { $0.isComplete ? nil : $0.last } }

    /// Inserts the hashes that follow ``cursor`` in the index. `isEnd` states that no more follow.
    func read(_ hashes: [[UInt8]], isEnd: Bool) {
        state.withLock { state in
            for hash in hashes { Self.insert(hash, &state) }
            state.last = hashes.last ?? state.last
            state.isComplete = isEnd
        }
    }

    private static func insert(_ hash: [UInt8], _ state: inout State) {
        // A shorter hash belongs to no key. `excludes` returns false for it.
        guard hash.count >= probes * 4 else { return }
        if state.words.isEmpty { state.words = [UInt64](repeating: 0, count: bitCount / 64) }
        for probe in 0..<probes {
            let bit = bit(probe, of: hash)
            state.words[bit >> 6] |= 1 << UInt64(bit & 63)
        }
    }

    private static func bit(_ probe: Int, of hash: [UInt8]) -> Int {
        let part = hash[probe * 4..<probe * 4 + 4].reduce(0) { $0 << 8 | Int($1) }
        return part & (bitCount - 1)
    }
}
