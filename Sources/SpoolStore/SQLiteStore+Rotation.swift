public import SpoolCore
import SpoolSystem

// Another key for an encrypted store. The index changes at once: from then on the store opens with the new key and with no other. Data
// files follow, one resource at a time: into the file of a new generation, which takes the place of the old one when it is on the disk.

extension SQLiteStore {
    /// What the beginning of a rotation found.
    public enum RotationStart: Hashable, Sendable {
        /// The store has the new key.
        case begun
        /// It has this key already; there may be files to be sealed anew.
        case isThisKey
        /// Files are still sealed by the key before the present one: they come first.
        case isUnfinished
    }

    /// How much is not sealed by the store's own key.
    public struct RotationBacklog: Hashable, Sendable {
        public var resources = 0
        public var bytes: Int64 = 0
    }

    /// What became of a resource that was sealed anew.
    public enum ResealOutcome: Hashable, Sendable {
        /// The new file has the place of the old one, which is unlinked.
        case replaced
        /// More of it was stored meanwhile: these bytes are missing in the new file.
        case grew(ByteRangeSet)
        /// It is not stored any more, or another version of it is.
        case isGone
    }

    // MARK: Beginning

    /// Gives the store another key, in one transaction. Index call.
    ///
    /// Asks the key provider up to twice, which may block for as long as its derivation takes.
    /// - Parameters:
    ///   - encryption: the new key.
    ///   - algorithm: how media are sealed from now on; nil for the cipher that the store has.
    /// - Throws: `.key(.notEncrypted)` for a plain store, `.key(.unavailable)` when the provider has no key, `.readOnly`.
    public func beginRotation(
        to encryption: EncryptionOptions, algorithm: CipherAlgorithm? = nil
    ) throws(StoreError) -> RotationStart {
        try write { (index) throws(StoreError) in
            guard let present = index.fields.keys else { throw .key(.notEncrypted) }
            let algorithm = algorithm ?? present.algorithm
            if try derive(encryption, try parameters(index), present, algorithm).isSame(as: present) { return .isThisKey }
            guard present.previous == nil else { return .isUnfinished }
            let parameters = KeyParameters(
                salt: sealedParts.random.bytes(KeyParameters.saltBytes), iterations: encryption.iterations)
            // Every number that may name a file by now: what is written to those files goes on being sealed by the present key.
            let last = GenerationID(rawValue: index.reservedGeneration)
            let keys = try derive(encryption, parameters, present, algorithm).with(
                previous: PreviousKeys(media: present.media, lastGeneration: last))
            let retired = try index.translating { (index) throws(SQLiteError) in
                try index.beginRotation(to: keys, parameters, random: sealedParts.random)
            }
            role.withLock { $0.keys = keys }
            self.encryption.withLock { $0 = encryption }
            // Numbers behind the last one are given out only now that everybody finds the new keys.
            numbers.skip(to: last.rawValue, reserved: index.reservedGeneration)
            for retired in retired { retire(retired) }
            return .begun
        }
    }

    private func parameters(_ index: StoreIndex) throws(StoreError) -> KeyParameters {
        try index.translating { (index) throws(SQLiteError) in
            KeyParameters(
                salt: try index.metaBytes(.keySalt) ?? [],
                iterations: max(1, min(Int(clamping: try index.metaNumber(.keyIterations) ?? 1), KeyParameters.iterationLimit)))
        }
    }

    private func derive(
        _ encryption: EncryptionOptions, _ parameters: KeyParameters, _ present: StoreKeys, _ algorithm: CipherAlgorithm
    ) throws(StoreError) -> StoreKeys {
        let master: EncryptionKey
        do { master = try encryption.keyProvider.masterKey(parameters) } catch { throw .key(.unavailable("\(error)")) }
        return StoreKeys(master: master, storeID: present.storeID, algorithm: algorithm)
    }

    // MARK: Going on

    /// Whether nothing more of a generation enters the index, because its key is gone.
    func isOutdated(_ generation: GenerationID) -> Bool {
        role.withLock { $0.lastOutdated }.map { generation <= $0 } ?? false
    }

    /// Whether a generation is sealed by the key before the store's present one.
    public func isSealedByPreviousKey(_ generation: GenerationID) -> Bool {
        keys?.previous.map { generation <= $0.lastGeneration } ?? false
    }

    /// What is left to be sealed anew; nothing when no rotation is under way. Index call.
    public func rotationBacklog() throws(StoreError) -> RotationBacklog {
        try read { (index) throws(StoreError) in
            guard let previous = keys?.previous else { return RotationBacklog() }
            let found = try index.translating { (index) throws(SQLiteError) in try index.backlog(upTo: previous.lastGeneration) }
            return RotationBacklog(resources: found.resources, bytes: found.bytes)
        }
    }

    /// The next resource that is not sealed by the store's own key, in the order of their generations, or nil. Index call.
    public func nextToReseal(after generation: GenerationID?) throws(StoreError) -> StoredResource? {
        try write { (index) throws(StoreError) in
            guard let previous = keys?.previous else { return nil }
            var last = generation ?? GenerationID(rawValue: .min)
            // Each turn looks at a later generation, or ends.
            while true {
                let next = try index.translating { (index) throws(SQLiteError) in
                    try index.nextToReseal(after: last, upTo: previous.lastGeneration)
                }
                guard let next else { return nil }
                last = next.generation
                let entry = try next.key.flatMap { (key) throws(StoreError) in
                    try index.translating { (index) throws(SQLiteError) in try index.lookup(key) }
                }
                if let entry, entry.resource.generation == last { return try checked(entry, index) }
                // A row that does not open, or a generation that is not the current one: nobody can read it.
                let file = try index.translating { (index) throws(SQLiteError) in
                    let file = try index.file(of: last)
                    try index.change { () throws(SQLiteError) in try index.takeOut(last) }
                    return file
                }
                if let file { retire(file) }
            }
        }
    }

    /// Begins to seal a resource anew. Index call.
    public func reseal(_ resource: StoredResource) throws(StoreError) -> ResealedCopy {
        if owesGenerations() { try reserveGenerations() }
        let generation = makeGeneration()
        func file(_ generation: GenerationID) throws(StoreError) -> StoreDataFile? {
            guard !resource.spans.isEmpty else { return nil }
            return try dataFile(of: generation, key: resource.key, fileExtension: resource.fileExtension) as? StoreDataFile
        }
        return ResealedCopy(
            resource: resource, generation: generation, source: try file(resource.generation), target: try file(generation),
            directories: layout.entries(toFileOf: fileHash(of: resource.key, generation)), fileSystem: fileSystem)
    }

    /// Puts the copy in the place of the resource, if it has all that is stored of it. Its bytes are on the disk (`synchronize`). Index call.
    public func enter(_ copy: ResealedCopy) throws(StoreError) -> ResealOutcome {
        try write { (index) throws(StoreError) in
            let old = copy.resource.generation
            guard let entry = try index.translating({ (index) throws(SQLiteError) in try index.lookup(copy.resource.key) }),
                entry.resource.generation == old
            else { return .isGone }
            let missing = entry.resource.spans.subtracting(copy.copied)
            guard missing.isEmpty else { return .grew(missing) }
            let commit = copy.commit(entry.resource)
            let size: FileStatus?
            do throws(SystemError) { size = try copy.target?.status() } catch { throw StoreError(error) }
            let retired = try index.translating { (index) throws(SQLiteError) in
                try index.replace(old, by: commit, allocatedBytes: size?.allocatedBytes ?? 0)
            }
            for retired in retired { retire(retired) }
            for hash in Set(retired.map(\.keyHash)) { removeDirectory(layout.directory(hash: hash)) }
            return .replaced
        }
    }

    /// Ends a rotation: forgets the key before. False when something is still sealed by it, or will be. Index call.
    public func finishRotation() throws(StoreError) -> Bool {
        try write { (index) throws(StoreError) in
            let last = keys?.previous?.lastGeneration
            // What is being fetched or imported is not in the index yet.
            if let last, files.mayBring(upTo: last) { return false }
            guard try index.translating({ (index) throws(SQLiteError) in try index.finishRotation() }) else { return false }
            role.withLock { role in
                role.lastOutdated = last ?? role.lastOutdated
                role.keys = role.keys?.with(previous: nil)
            }
            removeDamagedIndexes()
            return true
        }
    }
}

extension SQLiteStore {
    /// Unlinks the indexes that were set aside. They are sealed by the key that is gone: whoever has that key could read from them what
    /// was stored, and nobody else can.
    private func removeDamagedIndexes() {
        for number in 1...StoreOpening.damagedIndexLimit {
            let path = layout.damagedIndex(number: number)
            for name in [path] + StoreLayout.indexCompanionSuffixes.map({ path + $0 }) {
                do throws(SystemError) { try fileSystem.unlink(name) } catch {
                    if !error.meansMissing { options.onRecovery(.fileLeftBehind(path: name, error)) }
                }
            }
        }
    }
}

extension StoreKeys {
    /// Whether both are of one master key and seal by one cipher.
    fileprivate func isSame(as other: StoreKeys) -> Bool { check.matches(other.check) && algorithm == other.algorithm }
}

extension StoreLayout {
    /// The directories that have an entry on the way to a data file, from the inside out.
    fileprivate func entries(toFileOf hash: [UInt8]) -> [String] {
        let directory = directory(hash: hash)
        return [directory, parentDirectory(of: directory) ?? data, data, root]
    }
}
