import SpoolCore
import SpoolSystem

#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

// Changes the key of an encrypted store. One transaction seals every field of the index with the
// new key, so a store always opens with exactly one key. The data files follow one by one. Until
// the last of them, the index keeps the keys that sealed them, sealed with the new key.

extension StoreIndex {
    /// The number of rows that are in memory at a time.
    private static let rotationPage = 256

    /// The amount of data that is still sealed with the previous keys.
    struct Backlog {
        var resources = 0
        var bytes: Int64 = 0
    }

    /// The fields of a resource that the rotation changes.
    private struct Renamed {
        var resource: Int64
        var oldHash: [UInt8]
        /// Nil when the row did not open.
        var key: String?
        var url: String?
    }

    /// Seals every field with new keys, and keeps the previous keys for the existing data files.
    ///
    /// - Parameter keys: the new keys, with the current ones as their `previous`.
    /// - Returns: the generations that were removed because their rows did not open.
    func beginRotation(to keys: StoreKeys, _ parameters: KeyParameters, random: any RandomSource) throws(SQLiteError) -> [Retired] {
        guard let previous = keys.previous else { preconditionFailure("a rotation leaves keys behind") }
        let new = IndexFields(keys: keys, random: random)
        let reserved = previous.lastGeneration.rawValue + Self.generationBlock
        var retired: [Retired] = []
        try database.durably { () throws(SQLiteError) in
            try change { () throws(SQLiteError) in
                var last = Int64.min
                while true {
                    let page = try renamed(after: last)
                    guard let end = page.last else { break }
                    for row in page { retired += try rename(row, new) }
                    last = end.resource
                }
                try renamePins(new)
                try setMeta(.previousKeys, new.sealedSecret(of: previous))
                try setMeta(.previousCipher, previous.media.cipher.algorithm.rawValue)
                try setMeta(.previousGeneration, previous.lastGeneration.rawValue)
                try setMeta(.lastGeneration, reserved)
                try setKey(keys, parameters)
            }
        }
        fields = new
        reservedGeneration = reserved
        forget()
        return retired
    }

    /// Enters the values that identify the store's key. Runs inside a transaction.
    func setKey(_ keys: StoreKeys, _ parameters: KeyParameters) throws(SQLiteError) {
        try setMeta(.keySalt, parameters.salt)
        try setMeta(.keyIterations, Int64(parameters.iterations))
        try setMeta(.cipher, keys.algorithm.rawValue)
        try setMeta(.keyCheck, keys.check)
    }

    /// Returns the previous keys that still seal some generations, or nil when there are none.
    func previousKeys(_ keys: StoreKeys) throws(SQLiteError) -> PreviousKeys? {
        guard let sealed = try metaBytes(.previousKeys) else { return nil }
        guard let algorithm = try metaNumber(.previousCipher).flatMap(CipherAlgorithm.init(rawValue:)),
            let last = try metaNumber(.previousGeneration), 0...Self.numberLimit ~= last,
            let previous = fields.previousKeys(sealed, algorithm, GenerationID(rawValue: last))
        else {
            throw SQLiteError(code: SQLITE_CORRUPT, message: "the keys of before the last rotation do not open", context: "open")
        }
        return previous
    }

    /// Returns the amount of data up to generation `last` that must still be resealed with the new
    /// keys.
    func backlog(upTo last: GenerationID) throws(SQLiteError) -> Backlog {
        try database.with(
            """
            SELECT (SELECT count(*) FROM representations WHERE generation <= ?1),
                (SELECT coalesce(sum(upper - lower), 0) FROM pieces WHERE generation <= ?1)
            """
        ) { (select) throws(SQLiteError) in
            select.bind(1, last.rawValue)
            return try select.step() ? Backlog(resources: Int(clamping: select.int64(0)), bytes: select.int64(1)) : Backlog()
        }
    }

    /// Returns the first generation after one, up to the last one that the previous keys seal, with
    /// its resource's key. The key is nil when it does not open.
    func nextToReseal(
        after generation: GenerationID, upTo last: GenerationID
    ) throws(SQLiteError) -> (generation: GenerationID, key: ResourceKey?)? {
        try database.with(
            """
            SELECT generation, key, key_hash FROM representations JOIN resources USING (resource)
            WHERE generation > ?1 AND generation <= ?2 ORDER BY generation LIMIT 1
            """
        ) { (select) throws(SQLiteError) in
            select.bind(1, generation.rawValue)
            select.bind(2, last.rawValue)
            guard try select.step() else { return nil }
            return (GenerationID(rawValue: select.int64(0)), openKey(select, 1, hash: select.bytes(2)))
        }
    }

    /// Replaces a generation by its resealed copy. The new bytes are on disk before this call, and
    /// the commit is on disk when it returns.
    func replace(_ old: GenerationID, by commit: StoreCommit, allocatedBytes: Int64) throws(SQLiteError) -> [Retired] {
        let retired = try database.durably { () throws(SQLiteError) in
            try change { () throws(SQLiteError) -> [Retired] in
                guard let resource = try resource(of: commit.key) else { return [] }
                var commit = commit
                commit.time = try created(old) ?? commit.time
                let retired = try takeOutGenerations(of: resource)
                try insertRepresentation(commit, resource: resource)
                for piece in commit.pieces { try enter(piece, of: commit.generation, epoch: durableEpoch) }
                try setSize(of: commit.generation, allocatedBytes, was: 0)
                return retired
            }
        }
        return retired
    }

    /// Removes the previous keys if nothing is sealed with them any more. Returns false when
    /// something is.
    func finishRotation() throws(SQLiteError) -> Bool {
        guard let keys = fields.keys, let previous = keys.previous else { return true }
        guard try backlog(upTo: previous.lastGeneration).resources == 0 else { return false }
        try database.durably { () throws(SQLiteError) in
            try change { () throws(SQLiteError) in
                try database.run("DELETE FROM meta WHERE name IN ('previous_keys', 'previous_cipher', 'previous_generation')")
            }
        }
        // The log and the free pages of the database contained the sealed previous keys.
        try emptyLog()
        fields = fields.with(keys: keys.with(previous: nil))
        return true
    }

    /// Moves the pages of the log into the database, and empties the log's file.
    ///
    /// A power loss may keep the first pages of a truncated file. If these were old pages, SQLite
    /// would replay an old state. So the log begins anew first, with a commit that repeats the
    /// present state.
    private func emptyLog() throws(SQLiteError) {
        try database.checkpoint(.restart)
        try database.durably { () throws(SQLiteError) in
            try change { () throws(SQLiteError) in try setMeta(.lastGeneration, reservedGeneration) }
        }
        try database.checkpoint(.truncate)
    }

    // MARK: Rows

    private func created(_ generation: GenerationID) throws(SQLiteError) -> Timestamp? {
        try database.with("SELECT created FROM representations WHERE generation = ?1") { (select) throws(SQLiteError) in
            select.bind(1, generation.rawValue)
            return try select.step() ? Timestamp(nanoseconds: select.int64(0)) : nil
        }
    }

    private func renamed(after resource: Int64) throws(SQLiteError) -> [Renamed] {
        try database.with("SELECT resource, key, key_hash, url FROM resources WHERE resource > ?1 ORDER BY resource LIMIT ?2") {
            (select) throws(SQLiteError) in
            select.bind(1, resource)
            select.bind(2, Int64(Self.rotationPage))
            var page: [Renamed] = []
            while try select.step() {
                let owner = IndexFields.Owner(keyHash: select.bytes(2))
                page.append(
                    Renamed(
                        resource: select.int64(0), oldHash: owner.keyHash, key: fields.text(select, 1, .key, of: owner),
                        url: fields.text(select, 3, .url, of: owner)))
            }
            return page
        }
    }

    private func rename(_ row: Renamed, _ new: IndexFields) throws(SQLiteError) -> [Retired] {
        guard let key = row.key, let url = row.url else {
            onUnreadable()
            return try takeOutResource(row.resource)
        }
        let owner = IndexFields.Owner(keyHash: new.hash(of: ResourceKey(normalized: key)))
        var lost: [Retired] = []
        for version in try versions(of: row) {
            if version.header == nil || version.hasUnreadableValidator {
                onUnreadable()
                lost.append(Retired(generation: version.generation, keyHash: row.oldHash, fileExtension: ""))
                try takeOut(version.generation)
            } else {
                try reseal(version, row.oldHash, owner, new)
            }
        }
        try database.with("UPDATE resources SET key = ?2, key_hash = ?3, url = ?4 WHERE resource = ?1") { (update) throws(SQLiteError) in
            update.bind(1, row.resource)
            new.bind(key, .key, of: owner, to: update, at: 2)
            update.bind(3, owner.keyHash)
            new.bind(url, .url, of: owner, to: update, at: 4)
            try update.run()
        }
        try rename(pinOf: row.oldHash, to: owner, key, new)
        return lost
    }

    private func takeOutResource(_ resource: Int64) throws(SQLiteError) -> [Retired] {
        let retired = try takeOutGenerations(of: resource)
        try delete(from: "DELETE FROM resources WHERE resource = ?1", resource)
        return retired
    }

    /// The sealed fields of a generation's row.
    private struct Version {
        var generation: GenerationID
        var facts: [Int64]
        /// Nil when the row has none.
        var validator: [UInt8]?
        var hasUnreadableValidator: Bool
        /// Nil when it does not open.
        var header: [UInt8]?
    }

    private func versions(of row: Renamed) throws(SQLiteError) -> [Version] {
        try database.with(
            """
            SELECT generation, length, validator_kind, validator, header_block, request_time, response_time
            FROM representations WHERE resource = ?1
            """
        ) { (select) throws(SQLiteError) in
            select.bind(1, row.resource)
            var versions: [Version] = []
            while try select.step() {
                let plain = IndexFields.Owner(keyHash: row.oldHash, generation: GenerationID(rawValue: select.int64(0)))
                var vouched = plain
                vouched.facts = Self.authenticatedFacts(
                    kind: select.int64(2), length: select.optionalInt64(1), requestTime: select.int64(5), responseTime: select.int64(6))
                let validator = select.isNull(3) ? nil : fields.bytes(select, 3, .validator, of: plain)
                versions.append(
                    Version(
                        generation: GenerationID(rawValue: select.int64(0)), facts: vouched.facts, validator: validator,
                        hasUnreadableValidator: !select.isNull(3) && validator == nil,
                        header: fields.bytes(select, 4, .headerBlock, of: vouched)))
            }
            return versions
        }
    }

    private func reseal(
        _ version: Version, _ oldHash: [UInt8], _ owner: IndexFields.Owner, _ new: IndexFields
    ) throws(SQLiteError) {
        try database.with("UPDATE representations SET validator = ?2, header_block = ?3, file_hash = ?4 WHERE generation = ?1") {
            (update) throws(SQLiteError) in
            var owner = owner
            owner.generation = version.generation
            update.bind(1, version.generation.rawValue)
            if let validator = version.validator {
                new.bind(validator, .validator, of: owner, to: update, at: 2)
            } else {
                update.bind(2, nil as Int64?)
            }
            owner.facts = version.facts
            new.bind(version.header ?? [], .headerBlock, of: owner, to: update, at: 3)
            update.bind(4, oldHash)
            try update.run()
        }
    }

    // MARK: Pins

    private func rename(
        pinOf oldHash: [UInt8], to owner: IndexFields.Owner, _ key: String, _ new: IndexFields
    ) throws(SQLiteError) {
        try database.with("UPDATE pins SET key_hash = ?2, key = ?3 WHERE key_hash = ?1") { (update) throws(SQLiteError) in
            update.bind(1, oldHash)
            update.bind(2, owner.keyHash)
            new.bind(key, .key, of: owner, to: update, at: 3)
            try update.run()
        }
    }

    /// Renames the pins of keys without stored bytes. Their keys are sealed in the same row. The
    /// method reads a page of rows at a time; rows that were already renamed open only with the new
    /// keys, so it skips them.
    private func renamePins(_ new: IndexFields) throws(SQLiteError) {
        var last: [UInt8] = []
        while true {
            let page = try database.with("SELECT key_hash, key FROM pins WHERE key_hash > ?1 ORDER BY key_hash LIMIT ?2") {
                (select) throws(SQLiteError) -> [(hash: [UInt8], key: String?)] in
                select.bind(1, last)
                select.bind(2, Int64(Self.rotationPage))
                var page: [(hash: [UInt8], key: String?)] = []
                while try select.step() {
                    let owner = IndexFields.Owner(keyHash: select.bytes(0))
                    page.append((owner.keyHash, fields.text(select, 1, .key, of: owner)))
                }
                return page
            }
            guard let end = page.last else { return }
            for pin in page {
                guard let key = pin.key else { continue }
                try rename(pinOf: pin.hash, to: IndexFields.Owner(keyHash: new.hash(of: ResourceKey(normalized: key))), key, new)
            }
            last = end.hash
        }
    }
}
