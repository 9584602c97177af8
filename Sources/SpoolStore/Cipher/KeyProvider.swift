/// The source of the master key of an encrypted store.
///
/// The store calls the provider on the thread that opens the store or changes its key. The provider
/// may block that thread. The store keeps the key in memory while it is open, and nowhere else.
public protocol KeyProvider: Sendable {
    /// Returns the master key.
    ///
    /// - Parameter parameters: the values that the store keeps for providers that derive the key.
    ///   They are the same at every opening until the store gets another key.
    /// - Throws: any error that prevents the provider from returning a key. The store then stays
    ///   closed and unchanged.
    func masterKey(_ parameters: KeyParameters) throws -> EncryptionKey
}

/// The unencrypted values that an encrypted store keeps for deriving its key. None of them is
/// secret.
public struct KeyParameters: Hashable, Sendable {
    /// 16 random bytes. Because of them one passphrase gives each store another key.
    public var salt: [UInt8]
    /// The number of PBKDF2 iterations that derive a key from a passphrase.
    public var iterations: Int

    /// The iterations of new stores: 600 000, as OWASP recommends for PBKDF2 with HMAC-SHA-256.
    /// Each opening takes about 0.2 s for them.
    public static let defaultIterations = 600_000
    /// The maximum number of iterations that is accepted. The number is read from disk, and a
    /// damaged one must not hang the thread that opens the store.
    package static let iterationLimit = 50_000_000
    /// The size of the salt, in bytes.
    package static let saltBytes = 16

    /// Creates parameters from a salt and a number of iterations.
    public init(salt: [UInt8], iterations: Int = defaultIterations) {
        self.salt = salt
        self.iterations = iterations
    }
}

/// A provider of a key that the app already has.
public struct RawKeyProvider: KeyProvider {
    private let key: EncryptionKey

    /// Creates a provider that returns `key`.
    public init(_ key: EncryptionKey) {
        self.key = key
    }

    /// Returns the key that the app passed to `init(_:)`; ignores the parameters.
    public func masterKey(_ parameters: KeyParameters) -> EncryptionKey { key }
}

/// A provider of a key that is derived from a passphrase by PBKDF2 with HMAC-SHA-256.
///
/// An attacker who has the files can try passphrases. The iterations make each try expensive, and a
/// long passphrase requires many tries.
public struct PassphraseKeyProvider: KeyProvider {
    private let passphrase: SecretBytes

    /// Creates a provider from the text of a passphrase.
    ///
    /// - Parameter passphrase: used as its UTF-8 bytes, so two Unicode forms of "é" are two
    ///   passphrases. The memory of a `String` can't be overwritten: an app that can get the bytes
    ///   in another way uses `init(utf8:)`.
    public init(_ passphrase: String) {
        self.passphrase = SecretBytes(passphrase.utf8)
    }

    /// Creates a provider from the UTF-8 bytes of a passphrase, or returns nil when they are empty
    /// or not UTF-8. The caller overwrites its own copy.
    public init?(utf8: some Collection<UInt8>) {
        guard !utf8.isEmpty, utf8.isUTF8 else { return nil }
        passphrase = SecretBytes(utf8)
    }

    /// Derives the key from the passphrase with the salt and iterations of `parameters`.
    public func masterKey(_ parameters: KeyParameters) -> EncryptionKey {
        passphrase.withBytes { KeyDerivation.derive(fromPassphrase: $0, salt: parameters.salt, iterations: parameters.iterations) }
    }
}

/// Bytes that are overwritten when the last reference is released.
private final class SecretBytes: Sendable {
    // Safe to share: only `init` and `deinit` write to it.
    private nonisolated(unsafe) let storage: UnsafeMutableRawBufferPointer

    init(_ bytes: some Collection<UInt8>) {
        storage = .allocate(byteCount: bytes.count, alignment: 16)
        storage.copyBytes(from: bytes)
    }

    deinit {
        EncryptionKey.wipe(storage)
        storage.deallocate()
    }

    func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { body(UnsafeRawBufferPointer(storage)) }
}

extension Collection<UInt8> {
    /// Whether the bytes are valid UTF-8. Does not copy them.
    fileprivate var isUTF8: Bool {
        var codec = Unicode.UTF8()
        var bytes = makeIterator()
        // Each iteration consumes at least one byte.
        while true {
            switch codec.decode(&bytes) {
            case .scalarValue: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }
}

extension RawKeyProvider: CustomStringConvertible, CustomReflectable {
    /// A fixed text without the key's bytes.
    public var description: String { "RawKeyProvider(hidden)" }
    /// A mirror without children, so that a dump does not show the key's bytes.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension PassphraseKeyProvider: CustomStringConvertible, CustomReflectable {
    /// A fixed text without the passphrase.
    public var description: String { "PassphraseKeyProvider(hidden)" }
    /// A mirror without children, so that a dump does not show the passphrase.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension KeyProvider where Self == RawKeyProvider {
    /// Returns a provider of a key that the app already has.
    public static func key(_ key: EncryptionKey) -> RawKeyProvider { RawKeyProvider(key) }
}

extension KeyProvider where Self == PassphraseKeyProvider {
    /// Returns a provider of a key that is derived from a passphrase.
    public static func passphrase(_ passphrase: String) -> PassphraseKeyProvider { PassphraseKeyProvider(passphrase) }
}
