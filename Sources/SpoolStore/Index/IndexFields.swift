import SpoolCore
import SpoolSystem

/// Writes and reads the sensitive columns of the index: as plain values in a plain store, sealed in
/// an encrypted one.
///
/// A sealed field is a nonce, the ciphertext and a tag. The tag binds it to the store, the
/// resource, the generation and the column, so a field that was moved to another row or column does
/// not open.
struct IndexFields: Sendable {
    /// The columns that are sealed. The numbers are part of the format.
    enum Column: UInt8 {
        case key = 1
        case url = 2
        case validator = 3
        case headerBlock = 4
        case previousKeys = 5
        case download = 6
        case downloadPart = 7
    }

    /// The row that a field belongs to.
    struct Owner {
        /// The hash that finds the resource, `key_hash`.
        var keyHash: [UInt8]
        /// The generation, or nil for a column of the resource.
        var generation: GenerationID?
        /// Columns of the same row that are not hidden but must not be changed either.
        var facts: [Int64] = []
    }

    /// Nil in a plain store.
    let keys: StoreKeys?
    private let random: (any RandomSource)?
    /// The hash that finds a resource of a plain store. Tests replace it to make two keys collide.
    var plainHash: @Sendable (String) -> [UInt8] = { SHA256Digest.of($0) }

    /// The fields of a plain store.
    static let plain = IndexFields()

    private init() {
        keys = nil
        random = nil
    }

    /// Creates the fields of an encrypted store.
    init(keys: StoreKeys, random: any RandomSource) {
        self.keys = keys
        self.random = random
    }

    var isSealed: Bool { keys != nil }

    /// Returns the hash that finds a resource in the index and names its directory.
    func hash(of key: ResourceKey) -> [UInt8] {
        keys?.hash(of: key) ?? plainHash(key.string)
    }

    /// Returns the hash that names the directory of a generation's file, if it differs from the one
    /// that finds the resource: the file is then older than the store's key. Otherwise returns nil.
    func fileHash(of key: ResourceKey, _ generation: GenerationID) -> [UInt8]? {
        guard let keys, let previous = keys.previous, generation <= previous.lastGeneration else { return nil }
        return previous.media?.hash(of: key) ?? plainHash(key.string)
    }

    /// Returns the same fields with other keys.
    func with(keys: StoreKeys) -> IndexFields {
        guard let random else { return self }
        return with(keys: keys, random: random)
    }

    /// Returns the fields of an encrypted store. They find the files of a store that was plain.
    func with(keys: StoreKeys, random: any RandomSource) -> IndexFields {
        var fields = IndexFields(keys: keys, random: random)
        fields.plainHash = plainHash
        return fields
    }

    // MARK: Previous keys

    /// Returns the store's previous keys in the form that the index stores.
    func sealedSecret(of previous: PreviousKeys) -> [UInt8] {
        let owner = owner(ofKeysUpTo: previous.lastGeneration, previous.media?.cipher.algorithm)
        guard let media = previous.media else { return seal([], .previousKeys, of: owner) ?? [] }
        return media.withSecret { seal($0, .previousKeys, of: owner) ?? [] }
    }

    /// Returns the previous keys from their stored form, or nil when they do not open. The algorithm
    /// is nil for a store that was plain.
    func previousKeys(_ sealed: [UInt8], _ algorithm: CipherAlgorithm?, _ last: GenerationID) -> PreviousKeys? {
        guard let keys, var secret = open(sealed, .previousKeys, of: owner(ofKeysUpTo: last, algorithm)) else { return nil }
        defer { secret.withUnsafeMutableBytes { EncryptionKey.wipe($0) } }
        guard let algorithm else { return PreviousKeys(media: nil, lastGeneration: last) }
        return MediaKeys(secret: secret, algorithm: algorithm, storeID: keys.storeID).map {
            PreviousKeys(media: $0, lastGeneration: last)
        }
    }

    private func owner(ofKeysUpTo last: GenerationID, _ algorithm: CipherAlgorithm?) -> Owner {
        Owner(keyHash: keys?.check ?? [], generation: last, facts: [algorithm?.rawValue ?? 0])
    }

    // MARK: Writing

    /// Returns a text in the form that the column stores.
    func value(_ text: String, _ column: Column, of owner: Owner) -> any SQLiteValue {
        if let sealed = seal(Array(text.utf8), column, of: owner) { sealed } else { text }
    }

    /// Returns bytes in the form that the column stores.
    func value(_ bytes: [UInt8], _ column: Column, of owner: Owner) -> any SQLiteValue { seal(bytes, column, of: owner) ?? bytes }

    /// Returns a number in the form that the column stores.
    func value(_ number: Int64, _ column: Column, of owner: Owner) -> any SQLiteValue {
        if let sealed = seal(number.littleEndianBytes, column, of: owner) { sealed } else { number }
    }

    // MARK: Reading

    /// Returns the text of a field, or nil when it is sealed and does not open.
    func text(_ row: SQLiteStatement, _ index: Int32, _ column: Column, of owner: Owner) -> String? {
        guard isSealed else { return row.isText(index) ? row.text(index) : nil }
        return open(row.bytes(index), column, of: owner).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the bytes of a field, or nil when it is sealed and does not open.
    func bytes(_ row: SQLiteStatement, _ index: Int32, _ column: Column, of owner: Owner) -> [UInt8]? {
        isSealed ? open(row.bytes(index), column, of: owner) : row.bytes(index)
    }

    /// Returns the number of a field, or nil when it is sealed and does not open.
    func number(_ row: SQLiteStatement, _ index: Int32, _ column: Column, of owner: Owner) -> Int64? {
        isSealed ? open(row.bytes(index), column, of: owner).flatMap(Int64.init(littleEndianBytes:)) : row.int64(index)
    }

    // MARK: Sealing

    /// Returns nonce, ciphertext and tag, or nil in a plain store.
    private func seal(_ plaintext: [UInt8], _ column: Column, of owner: Owner) -> [UInt8]? {
        guard let keys, let random else { return nil }
        let associated = associatedData(column, of: owner, keys)
        let tagStart = CipherAlgorithm.nonceBytes + plaintext.count
        var sealed = random.nonce() + plaintext + [UInt8](repeating: 0, count: CipherAlgorithm.tagBytes)
        sealed.withUnsafeMutableBytes { sealed in
            let nonce = UnsafeRawBufferPointer(rebasing: sealed[..<CipherAlgorithm.nonceBytes])
            let text = UnsafeMutableRawBufferPointer(rebasing: sealed[CipherAlgorithm.nonceBytes..<tagStart])
            let tag = UnsafeMutableRawBufferPointer(rebasing: sealed[tagStart...])
            associated.withUnsafeBytes {
                keys.fields.seal(UnsafeRawBufferPointer(text), into: text, nonce: nonce, authenticating: $0, tag: tag)
            }
        }
        return sealed
    }

    private func open(_ sealed: [UInt8], _ column: Column, of owner: Owner) -> [UInt8]? {
        let tagStart = sealed.count - CipherAlgorithm.tagBytes
        guard let keys, tagStart >= CipherAlgorithm.nonceBytes else { return nil }
        let associated = associatedData(column, of: owner, keys)
        var plaintext = Array(sealed[CipherAlgorithm.nonceBytes..<tagStart])
        let isGenuine = plaintext.withUnsafeMutableBytes { text in
            sealed.withUnsafeBytes { sealed in
                associated.withUnsafeBytes {
                    keys.fields.open(
                        UnsafeRawBufferPointer(text), into: text,
                        nonce: UnsafeRawBufferPointer(rebasing: sealed[..<CipherAlgorithm.nonceBytes]), authenticating: $0,
                        tag: UnsafeRawBufferPointer(rebasing: sealed[tagStart...]))
                }
            }
        }
        return isGenuine ? plaintext : nil
    }

    /// Every part has a fixed size and each column has a fixed number of facts, so no two owners
    /// have the same data.
    private func associatedData(_ column: Column, of owner: Owner, _ keys: StoreKeys) -> [UInt8] {
        keys.storeID + owner.keyHash + (owner.generation?.rawValue ?? 0).littleEndianBytes + [column.rawValue]
            + owner.facts.flatMap(\.littleEndianBytes)
    }
}

extension RandomSource {
    /// Returns a random nonce. The probability of a repeat is negligible.
    func nonce() -> [UInt8] { bytes(CipherAlgorithm.nonceBytes) }
}

extension Int64 {
    /// The eight bytes of the number, the least significant first.
    var littleEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }

    /// Creates a number from eight bytes, the least significant first, or returns nil when they are
    /// not eight.
    init?(littleEndianBytes bytes: [UInt8]) {
        guard bytes.count == 8 else { return nil }
        self = bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
}
