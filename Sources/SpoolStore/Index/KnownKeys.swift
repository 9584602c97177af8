import SpoolSystem

/// A memory of the keys that the index may know, so that who asks for one that it certainly does not know need not wait for the index.
///
/// A Bloom filter of fixed size: it never forgets a key, and takes some that it never saw for known; one in a thousand with 10⁵ keys, most
/// with 10⁶. The hashes are SHA-256, so four parts of one serve as four hashes. Any thread.
final class KnownKeys: Sendable {
    /// Bits of the filter, a power of two: 256 KiB.
    private static let bitCount = 1 << 21
    /// How many bits stand for a key.
    private static let probes = 4

    private struct State {
        var words: [UInt64] = []
        /// Up to which hash the index was read.
        var last: [UInt8] = []
        /// Everything that was in the index when it was opened is entered.
        var isComplete = false
    }

    private let state = Locked(State())

    /// Enters a key by its hash.
    func insert(_ hash: [UInt8]) {
        state.withLock { Self.insert(hash, &$0) }
    }

    /// Whether the index certainly has nothing of the key with this hash.
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

    /// Up to which hash the index was read; nil when it was read to its end.
    var cursor: [UInt8]? { state.withLock { $0.isComplete ? nil : $0.last } }

    /// Enters the hashes that the index has after ``cursor``; fewer than were asked for are the last.
    func read(_ hashes: [[UInt8]], isEnd: Bool) {
        state.withLock { state in
            for hash in hashes { Self.insert(hash, &state) }
            state.last = hashes.last ?? state.last
            state.isComplete = isEnd
        }
    }

    private static func insert(_ hash: [UInt8], _ state: inout State) {
        // A shorter one is no key's: it is always taken for known.
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
