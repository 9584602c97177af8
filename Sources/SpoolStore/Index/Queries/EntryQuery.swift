import SpoolCore

extension StoreIndex {
    /// A resource as the index has it, with the hash that names its data file's directory.
    struct Entry {
        var resource: StoredResource
        var keyHash: [UInt8]
    }

    /// The maximum number of piece rows that are read for one generation. Bytes of further rows
    /// count as not stored.
    static let pieceRowLimit = 1 << 20

    /// Returns the current generation of a key, with its spans.
    func lookup(_ key: ResourceKey) throws(SQLiteError) -> Entry? {
        let found = try database.with(
            """
            SELECT key, key_hash, url, last_access, generation, length, validator_kind, validator, header_block,
                   request_time, response_time, file_extension, facts_check, key_hash IN (SELECT key_hash FROM pins)
            FROM resources JOIN representations USING (resource)
            WHERE key_hash = ?1 AND variant = '' AND is_current = 1
            """
        ) { (select) throws(SQLiteError) -> Entry? in
            select.bind(1, fields.hash(of: key))
            return try select.step() ? entry(select) : nil
        }
        // The query finds the row by its hash. The comparison of the keys rejects a collision.
        guard var entry = found, entry.resource.key == key else { return nil }
        (entry.resource.spans, entry.resource.unverified) = try spans(of: entry.resource.generation)
        return entry
    }

    /// Returns up to `limit` entries after `key`, in the order of the keys' bytes.
    func entries(after key: ResourceKey?, limit: Int) throws(SQLiteError) -> [Entry] {
        if fields.isSealed { return try sealedEntries(after: key, limit: limit) }
        var entries = try database.with(
            """
            SELECT key, key_hash, url, last_access, generation, length, validator_kind, validator, header_block,
                   request_time, response_time, file_extension, facts_check, key_hash IN (SELECT key_hash FROM pins)
            FROM resources JOIN representations USING (resource)
            WHERE key > ?1 AND variant = '' AND is_current = 1
            ORDER BY key LIMIT ?2
            """
        ) { (select) throws(SQLiteError) -> [Entry] in
            // Numbers sort before texts, so every key follows this number.
            if let key { select.bind(1, key.string) } else { select.bind(1, Int64.min) }
            select.bind(2, Int64(max(0, limit)))
            var entries: [Entry] = []
            while try select.step() { if let entry = entry(select) { entries.append(entry) } }
            return entries
        }
        for index in entries.indices {
            (entries[index].resource.spans, entries[index].resource.unverified) = try spans(of: entries[index].resource.generation)
        }
        return entries
    }

    /// Returns the bytes of a generation that have pieces in the index, and the part of them that
    /// has checks.
    func spans(of generation: GenerationID) throws(SQLiteError) -> (all: ByteRangeSet, checked: ByteRangeSet) {
        try database.with(
            "SELECT lower, upper, checks IS NULL AND nonce IS NULL FROM pieces WHERE generation = ?1 ORDER BY lower LIMIT ?2"
        ) { (select) throws(SQLiteError) in
            select.bind(1, generation.rawValue)
            select.bind(2, Int64(Self.pieceRowLimit))
            var all = JoiningRanges(), plain = JoiningRanges()
            while try select.step() {
                guard let range = ByteRange(select.int64(0), select.int64(1)) else { continue }
                all.append(range)
                if select.int64(2) != 0 { plain.append(range) }
            }
            let spans = all.finish(), unchecked = plain.finish()
            // Usually both sets are equal and share their memory.
            return (spans, unchecked.isEmpty ? spans : spans.subtracting(unchecked))
        }
    }

    /// Returns up to `limit` hashes of keys after `hash`, in order.
    func keyHashes(after hash: [UInt8], limit: Int) throws(SQLiteError) -> [[UInt8]] {
        try database.with("SELECT key_hash FROM resources WHERE key_hash > ?1 ORDER BY key_hash LIMIT ?2") { (select) throws(SQLiteError) in
            select.bind(1, hash)
            select.bind(2, Int64(limit))
            var hashes: [[UInt8]] = []
            while try select.step() { hashes.append(select.bytes(0)) }
            return hashes
        }
    }

    /// Returns the row number of a key's resource.
    func resource(of key: ResourceKey) throws(SQLiteError) -> Int64? {
        let hash = fields.hash(of: key)
        return try database.with("SELECT resource, key FROM resources WHERE key_hash = ?1") { (select) throws(SQLiteError) in
            select.bind(1, hash)
            guard try select.step() else { return nil }
            // The query finds the row by its hash, and the comparison of the keys rejects a
            // collision. (In an encrypted store the hash alone is enough, because only a holder of
            // the key can compute it.)
            let found = fields.text(select, 1, .key, of: IndexFields.Owner(keyHash: hash))
            return fields.isSealed || found.map({ ResourceKey(normalized: $0) == key }) ?? true ? select.int64(0) : nil
        }
    }

    func count() throws(SQLiteError) -> Int {
        Int(try database.int64("SELECT count(*) FROM resources") ?? 0)
    }

    /// Returns the bytes that all data files occupy, as far as commits and look-ups have seen them.
    func allocatedBytes(isSoleWriter: Bool) throws(SQLiteError) -> Int64 {
        if isSoleWriter, let totalSizeBytes { return totalSizeBytes }
        let total = try database.int64("SELECT sum(allocated_bytes) FROM sizes") ?? 0
        if isSoleWriter { totalSizeBytes = total }
        return total
    }

    /// Returns a row as an entry without its spans. When the row is sealed and does not open, or
    /// does not match its check, calls `onUnreadable` and returns nil.
    private func entry(_ row: SQLiteStatement) -> Entry? {
        let keyHash = row.bytes(1)
        let owner = IndexFields.Owner(keyHash: keyHash)
        let version = IndexFields.Owner(keyHash: keyHash, generation: GenerationID(rawValue: row.int64(4)))
        var vouched = version
        vouched.facts = Self.authenticatedFacts(
            kind: row.int64(6), length: row.optionalInt64(5), requestTime: row.int64(9), responseTime: row.int64(10))
        guard let key = fields.text(row, 0, .key, of: owner), let url = fields.text(row, 2, .url, of: owner),
            let validator = validator(row, column: 6, of: version), let block = fields.bytes(row, 8, .headerBlock, of: vouched)
        else {
            onUnreadable()
            return nil
        }
        let representation = Representation(
            status: FieldBlock.status(block), length: row.optionalInt64(5).flatMap { $0 >= 0 ? $0 : nil }, validator: validator,
            fields: FieldBlock.decode(block), requestTime: Timestamp(nanoseconds: row.int64(9)),
            responseTime: Timestamp(nanoseconds: row.int64(10)))
        let check = Self.factsCheck(keyHash: keyHash, generation: version.generation, representation)
        // A row of an earlier format has no check.
        if !fields.isSealed, let found = row.optionalInt64(12), found != check {
            onUnreadable()
            return nil
        }
        return Entry(
            resource: StoredResource(
                key: ResourceKey(normalized: key), url: url, generation: GenerationID(rawValue: row.int64(4)),
                representation: representation, spans: ByteRangeSet(),
                fileExtension: fields.isSealed ? FieldBlock.firstLine(block) : row.text(11),
                lastAccess: Timestamp(nanoseconds: row.int64(3)), isPinned: row.int64(13) != 0),
            keyHash: keyHash)
    }

    // MARK: Validators

    /// The kinds of validators in the column `validator_kind`. The kind defines the form of the
    /// column `validator`.
    enum ValidatorKind: Int64 {
        case none = 0
        case strongEntityTag = 1
        case weakEntityTag = 2
        case strongDate = 3
        case weakDate = 4

        init(_ validator: Validator) {
            self =
                switch validator {
                case .strong: .strongEntityTag
                case .weak: .weakEntityTag
                case .lastModified(_, let isStrong): isStrong ? .strongDate : .weakDate
                case .none: .none
                }
        }
    }

    /// Returns the validator of two columns, kind and value, or nil when the value is sealed and
    /// does not open.
    ///
    /// An unknown kind counts as no validator, so responses are never combined with it.
    private func validator(_ row: SQLiteStatement, column: Int32, of owner: IndexFields.Owner) -> Validator? {
        func text() -> String? { fields.text(row, column + 1, .validator, of: owner) }
        func time() -> Timestamp? { fields.number(row, column + 1, .validator, of: owner).map(Timestamp.init(nanoseconds:)) }
        return switch ValidatorKind(rawValue: row.int64(column)) {
        case .strongEntityTag: text().map { .strong(entityTag: $0) }
        case .weakEntityTag: text().map { .weak(entityTag: $0) }
        case .strongDate: time().map { .lastModified($0, isStrong: true) }
        case .weakDate: time().map { .lastModified($0, isStrong: false) }
        case .some(.none), nil: Validator.none
        }
    }

    /// Binds a validator to two parameters, its kind and its value. Returns the kind.
    func bind(_ validator: Validator, of owner: IndexFields.Owner, to statement: SQLiteStatement, at index: Int32) -> ValidatorKind {
        let kind = ValidatorKind(validator)
        statement.bind(index, kind.rawValue)
        switch validator {
        case .strong(let tag), .weak(let tag): fields.bind(tag, .validator, of: owner, to: statement, at: index + 1)
        case .lastModified(let time, _): fields.bind(time.nanoseconds, .validator, of: owner, to: statement, at: index + 1)
        case .none: statement.bind(index + 1, nil as Int64?)
        }
        return kind
    }
}

extension ByteRange {
    /// Returns this range and a later one as one range, or nil when bytes lie between them.
    fileprivate func joined(with later: ByteRange) -> ByteRange? {
        guard later.lowerBound <= upperBound else { return nil }
        return ByteRange(lower: lowerBound, upper: max(upperBound, later.upperBound))
    }
}

/// Joins ascending ranges that touch, so that the set gets one insertion for each span instead of
/// one for each row.
private struct JoiningRanges {
    private var set = ByteRangeSet()
    private var open: ByteRange?

    mutating func append(_ range: ByteRange) {
        if let joined = open?.joined(with: range) {
            open = joined
        } else {
            if let open { set.insert(open) }
            open = range
        }
    }

    mutating func finish() -> ByteRangeSet {
        if let open { set.insert(open) }
        open = nil
        return set
    }
}
