import SpoolCore

/// The keys of data files: what seals their bytes, and what names their directories.
final class MediaKeys: Sendable {
    /// Seals media.
    let cipher: Cipher
    let storeID: [UInt8]
    /// The first bytes of the store's `key_check`, which say by which key a generation is sealed.
    let identifier: [UInt8]
    private let data: EncryptionKey
    private let names: EncryptionKey

    /// Bytes of an identifier.
    static let identifierBytes = 8
    /// Bytes of the secret form.
    private static let secretBytes = 2 * EncryptionKey.byteCount + identifierBytes

    init(data: EncryptionKey, names: EncryptionKey, algorithm: CipherAlgorithm, storeID: [UInt8], identifier: [UInt8]) {
        cipher = Cipher(algorithm, key: data)
        self.data = data
        self.names = names
        self.storeID = storeID
        self.identifier = identifier
    }

    /// The keys of their secret form; nil when it is none.
    convenience init?(secret: [UInt8], algorithm: CipherAlgorithm, storeID: [UInt8]) {
        guard secret.count == Self.secretBytes, let data = EncryptionKey(bytes: secret[..<EncryptionKey.byteCount]),
            let names = EncryptionKey(bytes: secret[EncryptionKey.byteCount...].prefix(EncryptionKey.byteCount))
        else { return nil }
        self.init(
            data: data, names: names, algorithm: algorithm, storeID: storeID, identifier: Array(secret.suffix(Self.identifierBytes)))
    }

    /// Calls `body` with both keys and the identifier, as they are; the copy is overwritten afterwards.
    func withSecret<R>(_ body: ([UInt8]) -> R) -> R {
        var secret = data.withBytes { Array($0) } + names.withBytes { Array($0) } + identifier
        defer { secret.withUnsafeMutableBytes { EncryptionKey.wipe($0) } }
        return body(secret)
    }

    /// What names the directory of a resource: without the key nobody can tell whose it is.
    func hash(of key: ResourceKey) -> [UInt8] {
        KeyDerivation.hmac(key.string.utf8, key: names)
    }
}

/// The keys that a store had before it got the ones that it has, until everything is sealed anew.
struct PreviousKeys: Sendable {
    let media: MediaKeys
    /// The last generation that is sealed by them; later ones are sealed by the store's own.
    let lastGeneration: GenerationID
}
