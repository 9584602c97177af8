import SpoolCore

extension StoreIndex {
    /// A resource as the index has it, and what names its data file.
    struct Entry {
        var resource: StoredResource
        var keyHash: [UInt8]
    }

    /// The most rows of pieces that are read for one generation; the rest counts as not stored.
    static let pieceRowLimit = 1 << 20

    /// The current generation of a key, with its spans.
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
        // A hash finds; the key itself says whose it is.
        guard var entry = found, entry.resource.key == key else { return nil }
        (entry.resource.spans, entry.resource.unverified) = try spans(of: entry.resource.generation)
        return entry
    }

    /// Up to `limit` entries after `key`, in the order of the keys' bytes.
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
            // Numbers sort before texts, so every key is after this one.
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

    /// The bytes of a generation that the index has pieces of, and those of them that have checks.
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
            // The usual answer is one set twice, which shares its memory.
            return (spans, unchecked.isEmpty ? spans : spans.subtracting(unchecked))
        }
    }

    /// Up to `limit` hashes of keys after `hash`, in their order.
    func keyHashes(after hash: [UInt8], limit: Int) throws(SQLiteError) -> [[UInt8]] {
        try database.with("SELECT key_hash FROM resources WHERE key_hash > ?1 ORDER BY key_hash LIMIT ?2") { (select) throws(SQLiteError) in
            select.bind(1, hash)
            select.bind(2, Int64(limit))
            var hashes: [[UInt8]] = []
            while try select.step() { hashes.append(select.bytes(0)) }
            return hashes
        }
    }

    /// The row of a key's resource.
    func resource(of key: ResourceKey) throws(SQLiteError) -> Int64? {
        let hash = fields.hash(of: key)
        return try database.with("SELECT resource, key FROM resources WHERE key_hash = ?1") { (select) throws(SQLiteError) in
            select.bind(1, hash)
            guard try select.step() else { return nil }
            // A hash finds; the key itself says whose it is. (In an encrypted store the hash is as good: only who has the key makes it.)
            let found = fields.text(select, 1, .key, of: IndexFields.Owner(keyHash: hash))
            return fields.isSealed || found.map({ ResourceKey(normalized: $0) == key }) ?? true ? select.int64(0) : nil
        }
    }

    func count() throws(SQLiteError) -> Int {
        Int(try database.int64("SELECT count(*) FROM resources") ?? 0)
    }

    /// What all data files occupy, as far as commits and lookups saw it.
    func allocatedBytes(isSoleWriter: Bool) throws(SQLiteError) -> Int64 {
        if isSoleWriter, let totalSizeBytes { return totalSizeBytes }
        let total = try database.int64("SELECT sum(allocated_bytes) FROM sizes") ?? 0
        if isSoleWriter { totalSizeBytes = total }
        return total
    }

    /// A row as an entry, without its spans; nil when it is sealed and does not open, which is told.
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
            length: row.optionalInt64(5).flatMap { $0 >= 0 ? $0 : nil }, validator: validator, fields: FieldBlock.decode(block),
            requestTime: Timestamp(nanoseconds: row.int64(9)), responseTime: Timestamp(nanoseconds: row.int64(10)))
        let check = Self.factsCheck(keyHash: keyHash, generation: version.generation, representation)
        // A row of an earlier format has none.
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

    /// What the column `validator_kind` says of the column `validator`.
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

    /// What two columns say, kind and value; nil when the value is sealed and does not open.
    ///
    /// A kind that is not known counts as none: nothing is ever combined on it.
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
    /// The one range that this and a later one are together, or nil when bytes lie between them.
    fileprivate func joined(with later: ByteRange) -> ByteRange? {
        guard later.lowerBound <= upperBound else { return nil }
        return ByteRange(lower: lowerBound, upper: max(upperBound, later.upperBound))
    }
}

/// Ranges in ascending order, joined where they touch: one insertion for each span instead of one for each row.
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
