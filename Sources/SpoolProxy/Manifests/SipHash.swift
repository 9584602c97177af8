/// SipHash-2-4 (Aumasson and Bernstein, 2012): a message code of 64 bits under a key of 128 bits.
///
/// HMAC-SHA-256 of a URL takes ten times as long, and a long playlist needs thousands of codes. The
/// platforms' cryptography has no such code for short messages in common.
package struct SipHash: Sendable {
    /// The number of bytes of a key.
    private static let keyBytes = 16

    private var words: (UInt64, UInt64, UInt64, UInt64)

    /// Creates a code.
    ///
    /// - Precondition: `key` has at least `keyBytes` bytes. Only these count.
    package init(key: [UInt8]) {
        precondition(key.count >= Self.keyBytes, "a key of SipHash has \(Self.keyBytes) bytes")
        let (low, high) = key.withUnsafeBytes { (Self.word($0, at: 0), Self.word($0, at: 8)) }
        words = (low ^ 0x736F_6D65_7073_6575, high ^ 0x646F_7261_6E64_6F6D, low ^ 0x6C79_6765_6E65_7261, high ^ 0x7465_6462_7974_6573)
    }

    /// Returns the code of a message.
    package func of(_ message: [UInt8]) -> UInt64 {
        var copy = self
        let whole = message.count & ~7
        message.withUnsafeBytes { for index in stride(from: 0, to: whole, by: 8) { copy.take(Self.word($0, at: index)) } }
        // The last word has the rest of the bytes, and the length in its highest byte.
        var last = UInt64(truncatingIfNeeded: message.count) << 56
        for index in whole..<message.count { last |= UInt64(message[index]) << UInt64(8 * (index - whole)) }
        copy.take(last)
        copy.words.2 ^= 0xFF
        for _ in 0..<4 { copy.mix() }
        return copy.words.0 ^ copy.words.1 ^ copy.words.2 ^ copy.words.3
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, at index: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    private mutating func take(_ word: UInt64) {
        words.3 ^= word
        mix()
        mix()
        words.0 ^= word
    }

    /// One round. The sums are those of 64 bits, without a carry.
    private mutating func mix() {
        words.0 &+= words.1
        words.2 &+= words.3
        words.1 = words.1.rotated(by: 13) ^ words.0
        words.3 = words.3.rotated(by: 16) ^ words.2
        words.0 = words.0.rotated(by: 32)
        words.2 &+= words.1
        words.0 &+= words.3
        words.1 = words.1.rotated(by: 17) ^ words.2
        words.3 = words.3.rotated(by: 21) ^ words.0
        words.2 = words.2.rotated(by: 32)
    }
}

extension UInt64 {
    fileprivate func rotated(by count: UInt64) -> UInt64 { self << count | self >> (64 - count) }
}
