/// The algorithm that seals the bytes of an encrypted store: authenticated encryption with a nonce
/// of 96 bits and a tag of 128 bits.
///
/// The index stores the raw value, so the meaning of a number never changes.
public enum CipherAlgorithm: Int64, Hashable, Sendable, CaseIterable {
    /// ChaCha20-Poly1305 (RFC 8439): fast on every processor, and the default.
    case chaCha20Poly1305 = 1
    /// AES-256 in Galois/Counter Mode (NIST SP 800-38D): fast where the processor has AES
    /// instructions.
    case aes256GCM = 2

    /// The size of a key, in bytes.
    package static let keyBytes = 32
    /// The size of a nonce, in bytes.
    package static let nonceBytes = 12
    /// The size of a tag, in bytes.
    package static let tagBytes = 16
}
