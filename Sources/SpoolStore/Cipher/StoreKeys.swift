import SpoolCore

/// The keys of an encrypted store, each for one purpose, all derived from one master key.
///
/// The store's number goes into the derivation, so two stores with one master key have nothing in common.
final class StoreKeys: Sendable {
    /// Seals media and names their directories.
    let media: MediaKeys
    /// Seals what the index says in words.
    let fields: Cipher
    /// What the index keeps to tell this key from another. It tells nothing about the key.
    let check: [UInt8]
    /// The keys of generations that are not sealed by these yet; nil when there are none.
    let previous: PreviousKeys?

    var storeID: [UInt8] { media.storeID }
    /// How media are sealed.
    var algorithm: CipherAlgorithm { media.cipher.algorithm }

    convenience init(master: EncryptionKey, storeID: [UInt8], algorithm: CipherAlgorithm) {
        func key(_ purpose: String) -> EncryptionKey {
            KeyDerivation.derive(from: master, salt: storeID, info: "spool \(purpose)")
        }
        let check = KeyDerivation.hmac(storeID, key: key("check"))
        let media = MediaKeys(
            data: key("data \(algorithm.rawValue)"), names: key("names"), algorithm: algorithm, storeID: storeID,
            identifier: Array(check.prefix(MediaKeys.identifierBytes)))
        // Small and few: one algorithm does, whatever seals the media.
        self.init(media: media, fields: Cipher(.chaCha20Poly1305, key: key("fields")), check: check, previous: nil)
    }

    private init(media: MediaKeys, fields: Cipher, check: [UInt8], previous: PreviousKeys?) {
        self.media = media
        self.fields = fields
        self.check = check
        self.previous = previous
    }

    /// The same keys beside other ones for earlier generations, or beside none.
    func with(previous: PreviousKeys?) -> StoreKeys {
        StoreKeys(media: media, fields: fields, check: check, previous: previous)
    }

    /// What finds a resource in the index, and names the directory of what is sealed by these keys.
    func hash(of key: ResourceKey) -> [UInt8] { media.hash(of: key) }

    /// The keys of a generation's file.
    func media(of generation: GenerationID) -> MediaKeys {
        if let previous, generation <= previous.lastGeneration { return previous.media }
        return media
    }
}
