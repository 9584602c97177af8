import SpoolCore
import SpoolSystem

/// The steps from a given key to a readable index: derives the keys, compares them, and encrypts a
/// new store.
struct StoreUnlocking {
    private let index: StoreIndex
    private let options: SQLiteStore.Options
    private let random: any RandomSource

    init(_ index: StoreIndex, _ options: SQLiteStore.Options, _ random: any RandomSource) {
        self.index = index
        self.options = options
        self.random = random
    }

    /// Sets the keys of the index when it is encrypted. Returns the problem if that fails, or nil.
    ///
    /// A plain store without any resource accepts a key: `encrypt` then makes it an encrypted one.
    func unlock() throws(SQLiteError) -> KeyProblem? {
        guard let check = try index.metaBytes(.keyCheck) else {
            let isEmpty = options.encryption == nil ? true : try index.count() == 0
            return isEmpty ? nil : .notEncrypted
        }
        guard let encryption = options.encryption else { return .missing }
        let parameters = KeyParameters(
            salt: try index.metaBytes(.keySalt) ?? [], iterations: Int(clamping: try index.metaNumber(.keyIterations) ?? 0))
        guard (1...KeyParameters.iterationLimit).contains(parameters.iterations) else {
            return .unavailable("the store says that its key takes \(parameters.iterations) iterations, which is out of bounds")
        }
        guard let algorithm = try index.metaNumber(.cipher).flatMap(CipherAlgorithm.init(rawValue:)) else {
            return .unavailable("the store says that it is sealed by a cipher which this program does not know")
        }
        return try use(encryption, algorithm, parameters) { keys in keys.check.matches(check) ? nil : .wrong }
    }

    /// Makes the index an encrypted one when a key was given. Returns the problem if that fails, or
    /// nil.
    ///
    /// - Precondition: the index has no resource, and the process may write.
    func encrypt() throws(SQLiteError) -> KeyProblem? {
        guard let encryption = options.encryption else { return nil }
        let parameters = KeyParameters(
            salt: random.bytes(KeyParameters.saltBytes), iterations: encryption.iterations)
        if try index.metaBytes(.storeID) == nil {
            let storeID = random.storeID()
            try index.change { () throws(SQLiteError) in try index.setMeta(.storeID, storeID) }
        }
        if let problem = try use(encryption, encryption.algorithm, parameters, accept: { _ in nil }) { return problem }
        guard let keys = index.fields.keys else { return nil }
        try index.change { () throws(SQLiteError) in
            try index.setKey(keys, parameters)
        }
        return nil
    }

    /// Derives the keys, and sets them if `accept` returns no problem.
    private func use(
        _ encryption: EncryptionOptions, _ algorithm: CipherAlgorithm, _ parameters: KeyParameters, accept: (StoreKeys) -> KeyProblem?
    ) throws(SQLiteError) -> KeyProblem? {
        let master: EncryptionKey
        do { master = try encryption.keyProvider.masterKey(parameters) } catch { return .unavailable("\(error)") }
        let keys = StoreKeys(
            master: master, storeID: try index.metaBytes(.storeID) ?? [], algorithm: algorithm)
        if let problem = accept(keys) { return problem }
        index.fields = IndexFields(keys: keys, random: random)
        let tell = options.onRecovery
        index.onUnreadable = { tell(.rowUnreadable) }
        if let previous = try index.previousKeys(keys) {
            index.fields = index.fields.with(keys: keys.with(previous: previous))
            tell(.rotationUnfinished)
        }
        return nil
    }
}

extension [UInt8] {
    /// Whether both are equal. The duration does not depend on the place of a difference.
    func matches(_ other: [UInt8]) -> Bool {
        count == other.count && zip(self, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension RandomSource {
    /// Returns the identifier of a new store.
    func storeID() -> [UInt8] { bytes(16) }
}
