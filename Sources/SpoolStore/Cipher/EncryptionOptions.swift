/// How a store is encrypted at rest: what it keeps of media, names, URLs and headers can't be read without its key.
///
/// A store is encrypted from its beginning or not at all: a plain store that holds something is not opened with a key.
/// docs/encryption.md says what is hidden and what is not.
public struct EncryptionOptions: Sendable {
    /// Where the master key comes from.
    public var keyProvider: any KeyProvider
    /// How the bytes of a new store are sealed. A store keeps the one that it was made with until it gets another key.
    public var algorithm: CipherAlgorithm
    /// How often the derivation of a new store's key from a passphrase repeats its function.
    package var iterations = KeyParameters.defaultIterations

    public init(keyProvider: any KeyProvider, algorithm: CipherAlgorithm = .chaCha20Poly1305) {
        self.keyProvider = keyProvider
        self.algorithm = algorithm
    }
}

/// Why the key of a store and the key that was given do not fit. Nothing was changed.
public enum KeyProblem: Hashable, Sendable {
    /// The store is encrypted, and no key was given.
    case missing
    /// The store is encrypted with another key.
    case wrong
    /// A key was given, and the store is not encrypted.
    case notEncrypted
    /// The provider had no key; what it said.
    case unavailable(String)
}
