import SpoolSystem

/// The steps from a given key to a readable index: derives the keys, compares them, and encrypts a
/// new store.
struct StoreUnlocking {
    let index: StoreIndex
    let options: SQLiteStore.Options
    let random: any RandomSource

    /// Sets the keys of the index when it is encrypted. Returns the problem if that fails, or nil.
    ///
    /// A plain store without any key in its tables accepts a key: `encrypt` then makes it an
    /// encrypted one.
    func unlock() throws(StoreError) -> KeyProblem? {
        guard let check = try index.meta.bytes(.keyCheck) else {
            guard options.encryption != nil else { return nil }
            return try index.hasKeys() ? .notEncrypted : nil
        }
        guard let encryption = options.encryption else { return .missing }
        let parameters = KeyParameters(
            salt: try index.meta.bytes(.keySalt) ?? [], iterations: Int(clamping: try index.meta.number(.keyIterations) ?? 0))
        guard (1...KeyParameters.iterationLimit).contains(parameters.iterations) else {
            return .unavailable("the store's key takes \(parameters.iterations) iterations, which is out of bounds")
        }
        let cipher = try index.meta.number(.cipher).map { Int64(clamping: $0.magnitude) }
        guard let algorithm = cipher.flatMap(CipherAlgorithm.init(rawValue:)) else {
            return .unavailable("the store is sealed by a cipher that this program does not support")
        }
        return try use(encryption, algorithm, parameters) { keys in keys.check.matches(check) ? nil : .wrong }
    }

    /// Makes the index an encrypted one when a key was given. Returns the problem if that fails, or
    /// nil.
    ///
    /// - Precondition: the index has no key in its tables, and the process may write.
    func encrypt() throws(StoreError) -> KeyProblem? {
        guard let encryption = options.encryption else { return nil }
        let parameters = KeyParameters(
            salt: random.bytes(KeyParameters.saltBytes), iterations: encryption.iterations)
        if try index.meta.bytes(.storeID) == nil {
            let storeID = random.storeID()
            try index.change { () throws(StoreError) in try index.meta.set(.storeID, storeID) }
        }
        if let problem = try use(encryption, encryption.algorithm, parameters, accept: { _ in nil }) { return problem }
        guard let keys = index.database.fields.keys else { return nil }
        // The rows of resources that were removed are still in free pages, and their files may be
        // left. The traces are erased first, because a kill after the key was set would keep them.
        let wasUsed = try index.isUsed()
        if wasUsed { try IndexRotation(index: index).eraseTraces() }
        try index.change { () throws(StoreError) in
            if wasUsed { try index.meta.set(.owesSweep, 1 as Int64) }
            try index.setKey(keys, parameters)
        }
        return nil
    }

    /// Derives the keys, and sets them if `accept` returns no problem.
    private func use(
        _ encryption: EncryptionOptions, _ algorithm: CipherAlgorithm, _ parameters: KeyParameters, accept: (StoreKeys) -> KeyProblem?
    ) throws(StoreError) -> KeyProblem? {
        let master: EncryptionKey
        do { master = try encryption.keyProvider.masterKey(parameters) } catch { return .unavailable("\(error)") }
        let keys = StoreKeys(
            master: master, storeID: try index.meta.bytes(.storeID) ?? [], algorithm: algorithm)
        if let problem = accept(keys) { return problem }
        index.database.fields = IndexFields(keys: keys, random: random)
        if let previous = try index.previousKeys(keys) {
            index.database.fields = index.database.fields.with(keys: keys.with(previous: previous))
            let plainBytes = previous.media == nil ? try index.representations.backlog(upTo: previous.lastGeneration).bytes : 0
            options.onRecovery(.rotationUnfinished(plainBytes: plainBytes))
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
