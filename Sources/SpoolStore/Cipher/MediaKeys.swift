import SpoolCore

/// The keys of data files: one seals their bytes, one names their directories.
final class MediaKeys: Sendable {
    /// The cipher that seals media.
    let cipher: Cipher
    let storeID: [UInt8]
    /// The first bytes of the store's `key_check`. They identify the key that seals a generation.
    let identifier: [UInt8]
    private let data: EncryptionKey
    private let names: EncryptionKey

    /// The size of an identifier, in bytes.
    static let identifierBytes = 8
    /// The size of the secret form, in bytes.
    private static let secretBytes = 2 * EncryptionKey.byteCount + identifierBytes

    init(data: EncryptionKey, names: EncryptionKey, algorithm: CipherAlgorithm, storeID: [UInt8], identifier: [UInt8]) {
        cipher = Cipher(algorithm, key: data)
        self.data = data
        self.names = names
        self.storeID = storeID
        self.identifier = identifier
    }

    /// Creates the keys from their secret form, or returns nil when `secret` has another size.
    convenience init?(secret: [UInt8], algorithm: CipherAlgorithm, storeID: [UInt8]) {
        guard secret.count == Self.secretBytes, let data = EncryptionKey(bytes: secret[..<EncryptionKey.byteCount]),
            let names = EncryptionKey(bytes: secret[EncryptionKey.byteCount...].prefix(EncryptionKey.byteCount))
        else { return nil }
        self.init(
            data: data, names: names, algorithm: algorithm, storeID: storeID, identifier: Array(secret.suffix(Self.identifierBytes)))
    }

    /// Calls `body` with both keys and the identifier as plain bytes, and overwrites the copy
    /// afterwards.
    func withSecret<R>(_ body: ([UInt8]) -> R) -> R {
        var secret = data.withBytes { Array($0) } + names.withBytes { Array($0) } + identifier
        defer { secret.withUnsafeMutableBytes { EncryptionKey.wipe($0) } }
        return body(secret)
    }

    /// Returns the name of a resource's directory. Without the key, the name does not reveal the
    /// resource.
    func hash(of key: ResourceKey) -> [UInt8] {
        MessageCode(key: names).of(key.string.utf8)
    }
}

/// The keys that a store had before its current ones, until everything is sealed with the current
/// ones.
struct PreviousKeys: Sendable {
    /// Nil when the store was plain.
    let media: MediaKeys?
    /// The last generation sealed with these keys. The store's current keys seal later generations.
    let lastGeneration: GenerationID
}
