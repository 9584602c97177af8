/// The settings of an encrypted store. Its media, names, URLs and headers can't be read without the
/// key.
///
/// A store is encrypted from its creation or not at all. Opening a plain store with a key fails if
/// the store has contents. docs/encryption.md lists what encryption hides and what it does not.
public struct EncryptionOptions: Sendable {
    /// The source of the master key.
    public var keyProvider: any KeyProvider
    /// The algorithm that seals the bytes of a new store. A store keeps its algorithm until it gets
    /// another key.
    public var algorithm: CipherAlgorithm
    /// The number of PBKDF2 iterations that derive a new store's key from a passphrase.
    package var iterations = KeyParameters.defaultIterations

    /// Creates the settings.
    public init(keyProvider: any KeyProvider, algorithm: CipherAlgorithm = .chaCha20Poly1305) {
        self.keyProvider = keyProvider
        self.algorithm = algorithm
    }
}

/// The reason why the key of a store and the given key do not match. The store is unchanged.
///
/// A later version may add cases. Outside this package, a `switch` needs `@unknown default` or
/// `default`.
#if compiler(>=6.3)
@nonexhaustive
#endif
public enum KeyProblem: Hashable, Sendable {
    /// The store is encrypted, and no key was given.
    case missing
    /// The store is encrypted with another key.
    case wrong
    /// A key was given, and the store is not encrypted.
    case notEncrypted
    /// No key is available. The text is the provider's error, or names the parameter of the store
    /// that can't be used.
    case unavailable(String)
}
