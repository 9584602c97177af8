import SpoolCore

/// The keys of an encrypted store, each for one purpose, all derived from one master key.
///
/// The store's number goes into the derivation, so two stores with one master key have nothing in common.
final class StoreKeys: Sendable {
    /// Seals media.
    let data: Cipher
    /// Seals what the index says in words.
    let fields: Cipher
    /// What the index keeps to tell this key from another. It tells nothing about the key.
    let check: [UInt8]
    let storeID: [UInt8]
    private let names: EncryptionKey

    /// How media are sealed.
    var algorithm: CipherAlgorithm { data.algorithm }

    init(master: EncryptionKey, storeID: [UInt8], algorithm: CipherAlgorithm) {
        func key(_ purpose: String) -> EncryptionKey {
            KeyDerivation.derive(from: master, salt: storeID, info: "spool \(purpose)")
        }
        data = Cipher(algorithm, key: key("data \(algorithm.rawValue)"))
        // Small and few: one algorithm does, whatever seals the media.
        fields = Cipher(.chaCha20Poly1305, key: key("fields"))
        names = key("names")
        check = KeyDerivation.hmac(storeID, key: key("check"))
        self.storeID = storeID
    }

    /// What names the directory of a resource, and finds it in the index: without the key nobody can tell whose it is.
    func hash(of key: ResourceKey) -> [UInt8] {
        KeyDerivation.hmac(key.string.utf8, key: names)
    }

    /// The first bytes of `check`, which say by which key a generation is sealed.
    var identifier: [UInt8] { Array(check.prefix(Self.identifierBytes)) }

    /// Bytes of an identifier.
    static let identifierBytes = 8
}
