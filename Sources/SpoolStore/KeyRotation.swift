package import SpoolCore
import SpoolSystem

/// The rotation of a store's key, or the encryption of a plain store.
///
/// The index changes at once: from then on the store opens with the new key only. Data files
/// follow, one resource at a time. Each one is copied into the file of a new generation, which
/// replaces the old one when it is on disk.
package struct KeyRotation: Sendable {
    fileprivate let store: SQLiteStore

    /// The result of beginning a rotation.
    package enum Start: Hashable, Sendable {
        /// The store has the new key.
        case begun
        /// The store already has this key. There may be files to reseal.
        case isThisKey
        /// Files are still plain, or sealed with the key before the current one. Their rotation has
        /// to finish first.
        case isUnfinished
    }

    /// The amount of data that is not sealed with the store's current key.
    package struct Backlog: Hashable, Sendable {
        /// The number of resources.
        package var resources = 0
        /// The number of their stored bytes.
        package var bytes: Int64 = 0
    }

    /// The result of entering a resealed resource.
    package enum ResealOutcome: Hashable, Sendable {
        /// The new file has replaced the old one, which is unlinked.
        case replaced
        /// More bytes of the resource were stored meanwhile. These bytes are missing in the new
        /// file.
        case grew(ByteRangeSet)
        /// The resource is no longer stored, or in another version only.
        case isGone
    }

    // MARK: Beginning

    /// Gives the store another key, or its first one, in one transaction. Index call.
    ///
    /// The method asks the key provider up to twice, which may block for as long as its derivation
    /// takes. Until the encryption of a plain store is complete, each call also rewrites the index,
    /// so that no free page has a plain row.
    /// - Parameters:
    ///   - encryption: the new key.
    ///   - algorithm: the algorithm that seals media from now on, or nil for the current one.
    /// - Throws: `.key(.unavailable)` when the provider has no key, `.readOnly`, `.full`.
    package func begin(
        to encryption: EncryptionOptions, algorithm: CipherAlgorithm? = nil
    ) throws(StoreError) -> Start {
        try store.write { (index) throws(StoreError) in
            let start = try begin(index, to: encryption, algorithm ?? index.database.fields.keys?.algorithm ?? encryption.algorithm)
            if hasPlainFiles { try IndexRotation(index: index).eraseTraces() }
            return start
        }
    }

    private func begin(_ index: StoreIndex, to encryption: EncryptionOptions, _ algorithm: CipherAlgorithm) throws(StoreError) -> Start {
        if let present = index.database.fields.keys {
            if try derive(encryption, try parameters(index), algorithm).isSame(as: present) { return .isThisKey }
            guard present.previous == nil else { return .isUnfinished }
        }
        let parameters = KeyParameters(
            salt: store.sealedParts.random.bytes(KeyParameters.saltBytes), iterations: encryption.iterations)
        // Includes every number that may already name a file. Later writes to those files are still
        // sealed with the current key, or plain.
        let last = GenerationID(rawValue: index.reservedGeneration)
        let keys = try derive(encryption, parameters, algorithm).with(
            previous: PreviousKeys(media: index.database.fields.keys?.media, lastGeneration: last))
        let retired = try IndexRotation(index: index).begin(to: keys, parameters, random: store.sealedParts.random)
        store.knownKeys.withLock { $0 = nil }
        store.role.withLock { $0.keys = keys }
        store.encryption.withLock { $0 = encryption }
        // Numbers after the last one are handed out only now, when all callers use the new keys.
        store.numbers.skip(to: last.rawValue, reserved: index.reservedGeneration)
        for retired in retired { store.files.retire(retired) }
        return .begun
    }

    private func parameters(_ index: StoreIndex) throws(StoreError) -> KeyParameters {
        KeyParameters(
            salt: try index.meta.bytes(.keySalt) ?? [],
            iterations: max(1, min(Int(clamping: try index.meta.number(.keyIterations) ?? 1), KeyParameters.iterationLimit)))
    }

    private func derive(
        _ encryption: EncryptionOptions, _ parameters: KeyParameters, _ algorithm: CipherAlgorithm
    ) throws(StoreError) -> StoreKeys {
        let master: EncryptionKey
        do { master = try encryption.keyProvider.masterKey(parameters) } catch { throw .key(.unavailable("\(error)")) }
        return StoreKeys(master: master, storeID: store.secret, algorithm: algorithm)
    }

    // MARK: Continuing

    /// Whether the store was plain, and its encryption is not complete.
    package var hasPlainFiles: Bool { store.keys?.previous.map { $0.media == nil } ?? false }

    /// Whether a generation is sealed with the key before the store's current one, or plain.
    package func isSealedByPreviousKey(_ generation: GenerationID) -> Bool {
        store.keys?.previous.map { generation <= $0.lastGeneration } == true
    }

    /// Returns the amount of data that must still be resealed. Both numbers are 0 when there is no
    /// rotation. Index call.
    package func backlog() throws(StoreError) -> Backlog {
        try store.read { (index) throws(StoreError) in
            guard let previous = store.keys?.previous else { return Backlog() }
            return try index.representations.backlog(upTo: previous.lastGeneration)
        }
    }

    /// Returns the next resource that is not sealed with the store's current key, in the order of
    /// generations, or nil. Index call.
    ///
    /// Rows that do not open, and generations that are not current, can't be read. The method
    /// removes them on the way.
    package func next(after generation: GenerationID?) throws(StoreError) -> StoredResource? {
        try store.write { (index) throws(StoreError) in
            guard let previous = store.keys?.previous else { return nil }
            var last = generation ?? GenerationID(rawValue: .min)
            // Each iteration looks at a later generation, or returns.
            while true {
                let next = try index.representations.nextToReseal(after: last, upTo: previous.lastGeneration)
                guard let next else { return nil }
                guard next.generation > last else { throw .rowsOutOfOrder }
                last = next.generation
                let entry = try next.key.flatMap { (key) throws(StoreError) in
                    try index.entries.entry(of: key)
                }
                if let entry, entry.resource.generation == last {
                    if let resource = try store.checked(entry, index) { return resource }
                    continue
                }
                // The row does not open, or the generation is not the current one. Neither can be
                // read.
                let file = try index.representations.file(of: last)
                try index.change { () throws(StoreError) in try index.takeOut(last) }
                if let file { store.files.retire(file) }
            }
        }
    }

    /// Creates the copy of a resource for the new key. Index call.
    package func reseal(_ resource: StoredResource) throws(StoreError) -> ResealedCopy {
        if store.owesGenerations() { try store.reserveGenerations() }
        let generation = store.makeGeneration()
        func file(_ generation: GenerationID) throws(StoreError) -> StoreDataFile? {
            guard !resource.spans.isEmpty else { return nil }
            return try store.dataFile(of: generation, key: resource.key, fileExtension: resource.fileExtension) as? StoreDataFile
        }
        let target = try file(generation)
        // The system reports a failed write to the handle that was open meanwhile.
        do throws(SystemError) { try target?.keepOpen() } catch { throw StoreError(error) }
        return ResealedCopy(
            resource: resource, generation: generation, source: try file(resource.generation), target: target,
            directories: store.layout.entries(toFileOf: store.files.hash(of: resource.key, generation)), fileSystem: store.fileSystem)
    }

    /// Replaces a resource by its copy, if the copy has all stored bytes. The caller has made the
    /// copy durable (`synchronize`). Index call.
    package func enter(_ copy: ResealedCopy) throws(StoreError) -> ResealOutcome {
        try store.write { (index) throws(StoreError) in
            let old = copy.resource.generation
            guard let entry = try index.entries.entry(of: copy.resource.key),
                entry.resource.generation == old
            else { return .isGone }
            let missing = entry.resource.spans.subtracting(copy.copied)
            guard missing.isEmpty else { return .grew(missing) }
            let commit = copy.commit(entry.resource)
            let size: FileStatus?
            do throws(SystemError) { size = try copy.target?.status() } catch { throw StoreError(error) }
            let retired = try IndexRotation(index: index).replace(old, by: commit, allocatedBytes: size?.allocatedBytes ?? 0)
            for retired in retired { store.files.retire(retired) }
            for hash in Set(retired.map(\.keyHash)) { store.files.removeDirectory(store.layout.directory(hash: hash)) }
            return .replaced
        }
    }

    /// The number of directories that one call of `finish` searches for plain files.
    private static let sweepLimit = 1024

    /// Ends a rotation and removes the previous key. Returns false when something is still sealed
    /// with that key, or will be. Index call.
    ///
    /// The encryption of a plain store also waits for plain files without an entry in the index.
    package func finish() throws(StoreError) -> Bool {
        let wasPlain = hasPlainFiles
        if wasPlain, try !store.sweepOrphans(limit: Self.sweepLimit) { return false }
        return try store.write { (index) throws(StoreError) in
            if wasPlain {
                store.files.unlinkLeftBehind()
                guard !store.files.hasLeftBehind else { return false }
            }
            let last = store.keys?.previous?.lastGeneration
            // Bytes of a running fetch or import are not in the index yet.
            if let last, store.files.open.mayBring(upTo: last) { return false }
            guard try IndexRotation(index: index).finish() else { return false }
            store.role.withLock { role in
                role.lastOutdated = last ?? role.lastOutdated
                role.keys = role.keys?.with(previous: nil)
            }
            store.removeDamagedIndexes()
            return true
        }
    }
}

extension SQLiteStore {
    /// The rotation of the store's key.
    package var rotation: KeyRotation { KeyRotation(store: self) }

    /// Whether the generation's key is gone, so that nothing more of it may be committed.
    func isOutdated(_ generation: GenerationID) -> Bool {
        role.withLock { $0.lastOutdated }.map { generation <= $0 } == true
    }
}

extension StoreKeys {
    /// Whether both come from the same master key and use the same algorithm.
    fileprivate func isSame(as other: StoreKeys) -> Bool { check.matches(other.check) && algorithm == other.algorithm }
}

extension StoreLayout {
    /// The directories with a new entry on the path to a data file, from the inside out.
    fileprivate func entries(toFileOf hash: [UInt8]) -> [String] {
        let directory = directory(hash: hash)
        return [directory, parentDirectory(of: directory) ?? data, data, root]
    }
}
