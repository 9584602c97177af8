import SpoolSystem

/// Seals and opens bytes with one key.
///
/// Safe to use from any thread. A context holds the expanded key. `Cipher` creates a context when
/// no idle one is left, and reuses it later, so sealing and opening allocate nothing in the steady
/// state. (On Apple's systems CryptoKit allocates for each call.)
///
/// A nonce must never be used twice with one key. Callers use random nonces: with at most 2³² of
/// them, the probability of a repeat stays below 2⁻³² (NIST SP 800-38D §8.3). 2³² pieces are up to
/// 256 TiB.
package final class Cipher: Sendable {
    /// The algorithm that seals the bytes.
    package let algorithm: CipherAlgorithm
    private let key: EncryptionKey
    private let idle = Locked<[CipherContext]>([])

    /// The maximum number of idle contexts. A context that becomes idle beyond this number is
    /// freed.
    private static let idleLimit = 8

    /// Creates a cipher for one algorithm and one key.
    package init(_ algorithm: CipherAlgorithm, key: EncryptionKey) {
        self.algorithm = algorithm
        self.key = key
    }

    /// Encrypts `plaintext` into `ciphertext`, which may be the same memory, and writes the tag.
    ///
    /// - Precondition: `plaintext` and `ciphertext` have the same size, at most `Int32.max`.
    ///   `nonce` and `tag` have the sizes of `CipherAlgorithm`.
    package func seal(
        _ plaintext: UnsafeRawBufferPointer, into ciphertext: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer, tag: UnsafeMutableRawBufferPointer
    ) {
        checkSizes(plaintext.count, ciphertext.count, nonce.count, tag.count)
        withContext { $0.seal(plaintext, into: ciphertext, nonce: nonce, authenticating: associated, tag: tag) }
    }

    /// Decrypts `ciphertext` into `plaintext`, which may be the same memory.
    ///
    /// - Returns: false when the tag does not match. The bytes in `plaintext` are then meaningless
    ///   and must not be used.
    package func open(
        _ ciphertext: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer
    ) -> Bool {
        checkSizes(ciphertext.count, plaintext.count, nonce.count, tag.count)
        return withContext { $0.open(ciphertext, into: plaintext, nonce: nonce, authenticating: associated, tag: tag) }
    }

    private func checkSizes(_ input: Int, _ output: Int, _ nonce: Int, _ tag: Int) {
        precondition(input == output && input <= Int32.max, "sealed bytes have their plaintext's size: \(input), \(output)")
        precondition(
            nonce == CipherAlgorithm.nonceBytes && tag == CipherAlgorithm.tagBytes, "a nonce of \(nonce) bytes, a tag of \(tag)")
    }

    private func withContext<R>(_ body: (CipherContext) -> R) -> R {
        let context = idle.withLock { $0.popLast() } ?? CipherContext(algorithm, key)
        defer {
            idle.withLock { idle in
                if idle.count < Self.idleLimit { idle.append(context) }
            }
        }
        return body(context)
    }
}
