import SpoolCore

/// The keys of an encrypted store, each for one purpose, all derived from one master key.
///
/// The derivation includes the store's identifier, so two stores with the same master key share no
/// derived key.
final class StoreKeys: Sendable {
    /// The keys that seal media and name their directories.
    let media: MediaKeys
    /// The cipher that seals text fields of the index.
    let fields: Cipher
    /// The bytes that the index stores to recognise this key. They reveal nothing about the key.
    let check: [UInt8]
    /// The keys of generations that are not yet sealed with these keys, if there are any.
    let previous: PreviousKeys?

    var storeID: [UInt8] { media.storeID }
    /// The algorithm that seals media.
    var algorithm: CipherAlgorithm { media.cipher.algorithm }

    convenience init(master: EncryptionKey, storeID: [UInt8], algorithm: CipherAlgorithm) {
        func key(_ purpose: String) -> EncryptionKey {
            KeyDerivation.derive(from: master, salt: storeID, info: "spool \(purpose)")
        }
        let check = MessageCode(key: key("check")).of(storeID)
        let media = MediaKeys(
            data: key("data \(algorithm.rawValue)"), names: key("names"), algorithm: algorithm, storeID: storeID,
            identifier: Array(check.prefix(MediaKeys.identifierBytes)))
        // Fields are small and few, so they use one algorithm whatever algorithm seals the media.
        self.init(media: media, fields: Cipher(.chaCha20Poly1305, key: key("fields")), check: check, previous: nil)
    }

    private init(media: MediaKeys, fields: Cipher, check: [UInt8], previous: PreviousKeys?) {
        self.media = media
        self.fields = fields
        self.check = check
        self.previous = previous
    }

    /// Returns the same keys with other previous keys, or without any.
    func with(previous: PreviousKeys?) -> StoreKeys {
        StoreKeys(media: media, fields: fields, check: check, previous: previous)
    }

    /// Returns the hash that finds a resource in the index and names the directory of its files
    /// sealed with these keys.
    func hash(of key: ResourceKey) -> [UInt8] { media.hash(of: key) }

    /// Returns the keys of a generation's file, or nil when the file is plain.
    func media(of generation: GenerationID) -> MediaKeys? {
        if let previous, generation <= previous.lastGeneration { return previous.media }
        return media
    }
}
