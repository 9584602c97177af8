/// Where the master key of an encrypted store comes from.
///
/// Asked on the thread that opens the store or gives it another key, and may block it. The key itself is kept in memory as long as
/// the store is open, and nowhere else.
public protocol KeyProvider: Sendable {
    /// The master key.
    ///
    /// - Parameter parameters: what the store keeps for providers that derive the key; the same at every opening until it gets
    ///   another key.
    /// - Throws: whatever prevents it; the store stays closed and untouched.
    func masterKey(_ parameters: KeyParameters) throws -> EncryptionKey
}

/// What an encrypted store keeps, unencrypted, for deriving its key. Nothing in it is secret.
public struct KeyParameters: Hashable, Sendable {
    /// 16 random bytes, so that one passphrase gives every store another key.
    public var salt: [UInt8]
    /// How often a derivation from a passphrase repeats its function.
    public var iterations: Int

    /// The iterations of new stores: 600 000, what OWASP asks for of PBKDF2 with HMAC-SHA-256; about 0.2 s once an opening.
    public static let defaultIterations = 600_000
    /// The most iterations that are believed: the number comes from a disk, and must not hang who opens the store.
    public static let iterationLimit = 50_000_000
    /// The size of the salt, in bytes.
    public static let saltBytes = 16

    public init(salt: [UInt8], iterations: Int = defaultIterations) {
        self.salt = salt
        self.iterations = iterations
    }
}

/// A key that the app has.
public struct RawKeyProvider: KeyProvider {
    private let key: EncryptionKey

    public init(_ key: EncryptionKey) {
        self.key = key
    }

    public func masterKey(_ parameters: KeyParameters) -> EncryptionKey { key }
}

/// A key that is derived from a passphrase, by PBKDF2 with HMAC-SHA-256.
///
/// Whoever has the files can try passphrases: the iterations make each try dear, a long passphrase makes them many.
public struct PassphraseKeyProvider: KeyProvider {
    private let passphrase: SecretBytes

    /// - Parameter passphrase: used as its UTF-8; two forms of "é" are two passphrases. Nobody can overwrite a `String`: an app that can
    ///   have the bytes otherwise uses `init(utf8:)`.
    public init(_ passphrase: String) {
        self.passphrase = SecretBytes(passphrase.utf8)
    }

    /// A passphrase by its UTF-8; nil when it is empty or no UTF-8. The caller overwrites its own copy.
    public init?(utf8: some Collection<UInt8>) {
        guard !utf8.isEmpty, utf8.isUTF8 else { return nil }
        passphrase = SecretBytes(utf8)
    }

    public func masterKey(_ parameters: KeyParameters) -> EncryptionKey {
        passphrase.withBytes { KeyDerivation.derive(fromPassphrase: $0, salt: parameters.salt, iterations: parameters.iterations) }
    }
}

/// Bytes that are overwritten when the last reference goes.
private final class SecretBytes: Sendable {
    // Safe to share: nobody writes to it between `init` and `deinit`.
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
    /// Whether the bytes are text; without a copy of them.
    fileprivate var isUTF8: Bool {
        var codec = Unicode.UTF8()
        var bytes = makeIterator()
        // Each turn takes at least one byte.
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
    public var description: String { "RawKeyProvider(hidden)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension PassphraseKeyProvider: CustomStringConvertible, CustomReflectable {
    public var description: String { "PassphraseKeyProvider(hidden)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension KeyProvider where Self == RawKeyProvider {
    /// A key that the app has.
    public static func key(_ key: EncryptionKey) -> RawKeyProvider { RawKeyProvider(key) }
}

extension KeyProvider where Self == PassphraseKeyProvider {
    /// A key that is derived from a passphrase.
    public static func passphrase(_ passphrase: String) -> PassphraseKeyProvider { PassphraseKeyProvider(passphrase) }
}
