import SpoolCore
import SpoolSystem

/// Changes the key of a store, or encrypts a plain one.
///
/// One transaction seals every field of the index with the new key, so a store always opens with
/// exactly one key. The data files follow one by one. Until the last of them, the index keeps the
/// keys that sealed them, sealed with the new key.
struct IndexRotation {
    let index: StoreIndex

    /// The number of rows that are in memory at a time.
    private static let page = 256

    /// Seals every field with new keys, and keeps the previous keys for the existing data files.
    ///
    /// - Parameter keys: the new keys, with the current ones as their `previous`.
    /// - Returns: the files of the generations that were removed because their rows did not open.
    func begin(to keys: StoreKeys, _ parameters: KeyParameters, random: any RandomSource) throws(StoreError) -> [DataFileID] {
        guard let previous = keys.previous else { preconditionFailure("a rotation leaves keys behind") }
        let new = index.database.fields.with(keys: keys, random: random)
        let reserved = previous.lastGeneration.rawValue + StoreIndex.generationBlock
        var removed: [DataFileID] = []
        try index.changeDurably { () throws(StoreError) in
            removed = try resealResources(new)
            try resealPins(new)
            try index.downloadParts.reseal(of: index.downloads.keys(), new)
            try index.downloads.reseal(new)
            try index.meta.set(.previousKeys, new.sealedSecret(of: previous))
            try index.meta.set(.previousCipher, previous.media?.cipher.algorithm.rawValue ?? 0)
            try index.meta.set(.previousGeneration, previous.lastGeneration.rawValue)
            try index.meta.set(.lastGeneration, reserved)
            try index.setKey(keys, parameters)
        }
        index.database.fields = new
        index.reservedGeneration = reserved
        index.resources.knownKeys = nil
        index.forget()
        return removed
    }

    /// Rewrites the database after a plain index was sealed. Its free pages and its log have plain
    /// rows until then.
    ///
    /// SQLite makes the new pages in memory. They are as large as the index.
    func eraseTraces() throws(StoreError) {
        try index.database.connection.execute("PRAGMA secure_delete=ON; VACUUM; PRAGMA secure_delete=OFF")
        try emptyLog()
    }

    /// Replaces a generation by its resealed copy. The new bytes are on disk before this call, and
    /// the commit is on disk when it returns.
    func replace(_ old: GenerationID, by commit: StoreCommit, allocatedBytes: Int64) throws(StoreError) -> [DataFileID] {
        try index.changeDurably { () throws(StoreError) -> [DataFileID] in
            guard let resource = try index.resources.row(of: commit.key) else { return [] }
            var commit = commit
            commit.time = try index.representations.created(old) ?? commit.time
            let removed = try index.takeOutGenerations(of: resource)
            try index.representations.insert(commit, resource: resource)
            for piece in commit.pieces { try index.pieces.enter(piece, of: commit.generation, epoch: index.pieces.epochs.durable) }
            try index.setSize(of: commit.generation, allocatedBytes, was: 0)
            return removed
        }
    }

    /// Removes the previous keys if nothing is sealed with them any more. Returns false when
    /// something is.
    func finish() throws(StoreError) -> Bool {
        guard let keys = index.database.fields.keys, let previous = keys.previous else { return true }
        guard try index.representations.backlog(upTo: previous.lastGeneration).resources == 0 else { return false }
        try index.changeDurably { () throws(StoreError) in
            try index.database.connection.run(
                "DELETE FROM meta WHERE name IN ('previous_keys', 'previous_cipher', 'previous_generation')")
            try index.meta.set(.cipher, keys.algorithm.rawValue)
        }
        // The log and the free pages of the database contained the sealed previous keys.
        try emptyLog()
        index.database.fields = index.database.fields.with(keys: keys.with(previous: nil))
        return true
    }

    /// Moves the pages of the log into the database, and empties the log's file.
    ///
    /// A power loss may keep the first pages of a truncated file. If these were old pages, SQLite
    /// would replay an old state. So the log begins anew first, with a commit that repeats the
    /// present state.
    func emptyLog() throws(StoreError) {
        try index.database.connection.checkpoint(.restart)
        try index.changeDurably { () throws(StoreError) in
            try index.meta.set(.lastGeneration, max(index.reservedGeneration, index.meta.number(.lastGeneration) ?? 0))
        }
        try index.database.connection.checkpoint(.truncate)
    }

    // MARK: Resources

    private func resealResources(_ new: IndexFields) throws(StoreError) -> [DataFileID] {
        var removed: [DataFileID] = []
        var last = Int64.min
        while true {
            let page = try index.resources.page(after: last, limit: Self.page)
            guard let end = page.last else { return removed }
            guard end.resource > last else { throw .rowsOutOfOrder }
            for row in page { removed += try reseal(row, new) }
            last = end.resource
        }
    }

    private func reseal(_ row: ResourceTable.SealedFields, _ new: IndexFields) throws(StoreError) -> [DataFileID] {
        guard let key = row.key, let url = row.url else {
            index.database.onUnreadable()
            return try index.takeOutResource(row.resource)
        }
        let owner = IndexFields.Owner(keyHash: new.hash(of: ResourceKey(normalized: key)))
        let removed = try resealVersions(of: row, new)
        try index.resources.reseal(row.resource, key: key, url: url, to: owner, new)
        try index.pins.reseal(row.keyHash, to: owner, key, new)
        return removed
    }

    private func resealVersions(of row: ResourceTable.SealedFields, _ new: IndexFields) throws(StoreError) -> [DataFileID] {
        var removed: [DataFileID] = []
        for (generation, version) in try index.entries.versions(of: row.resource) {
            if let version {
                try index.representations.reseal(version, fileHash: row.keyHash, new)
            } else if let file = try index.representations.file(of: generation) {
                removed.append(file)
                try index.takeOut(generation)
            }
        }
        return removed
    }

    // MARK: Pins

    /// Reseals the pins of keys without stored bytes. Their keys are sealed in the same row. Rows
    /// that were already resealed open only with the new keys, so the method skips them.
    private func resealPins(_ new: IndexFields) throws(StoreError) {
        var last: [UInt8] = []
        while true {
            let page = try index.pins.page(after: last, limit: Self.page)
            guard let end = page.last else { return }
            guard last.lexicographicallyPrecedes(end.hash) else { throw .rowsOutOfOrder }
            for pin in page {
                guard let key = pin.key else { continue }
                try index.pins.reseal(
                    pin.hash, to: IndexFields.Owner(keyHash: new.hash(of: ResourceKey(normalized: key))), key, new)
            }
            last = end.hash
        }
    }
}

extension StoreIndex {
    /// Enters the values that identify the store's key. Runs inside a transaction.
    func setKey(_ keys: StoreKeys, _ parameters: KeyParameters) throws(StoreError) {
        try meta.set(.keySalt, parameters.salt)
        try meta.set(.keyIterations, Int64(parameters.iterations))
        // An earlier program does not read plain files in an encrypted store. It refuses a cipher
        // below 0 and changes nothing.
        let hasPlainFiles = keys.previous.map { $0.media == nil } ?? false
        try meta.set(.cipher, hasPlainFiles ? 0 - keys.algorithm.rawValue : keys.algorithm.rawValue)
        try meta.set(.keyCheck, keys.check)
    }

    /// Returns the previous keys that still seal some generations, if there are any.
    func previousKeys(_ keys: StoreKeys) throws(StoreError) -> PreviousKeys? {
        guard let sealed = try meta.bytes(.previousKeys) else { return nil }
        guard let cipher = try meta.number(.previousCipher), let last = try meta.number(.previousGeneration),
            0...Self.numberLimit ~= last, cipher == 0 || CipherAlgorithm(rawValue: cipher) != nil,
            let previous = database.fields.previousKeys(sealed, CipherAlgorithm(rawValue: cipher), GenerationID(rawValue: last))
        else {
            throw .damagedIndex("the keys of before the last rotation do not open in open")
        }
        return previous
    }
}
