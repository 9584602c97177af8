import SpoolCore
import SpoolSystem

/// The columns of the table `representations` that describe a version: its length, its validator,
/// its fields and its times.
enum RepresentationColumns {
    /// Returns the CRC32C of the columns that describe a version. A damaged length would end a body
    /// too early, and no check of the bytes would detect that.
    static func factsCheck(keyHash: [UInt8], generation: GenerationID?, _ representation: Representation) -> Int64 {
        let validator: (ValidatorKind, [UInt8]) =
            switch representation.validator {
            case .strong(let tag), .weak(let tag): (ValidatorKind(representation.validator), Array(tag.utf8))
            case .lastModified(let time, _): (ValidatorKind(representation.validator), time.nanoseconds.littleEndianBytes)
            case .none: (.none, [])
            }
        let numbers = [
            generation?.rawValue ?? 0, validator.0.rawValue, representation.length ?? -1, representation.requestTime.nanoseconds,
            representation.responseTime.nanoseconds, Int64(validator.1.count),
        ]
        let bytes = keyHash + numbers.flatMap(\.littleEndianBytes) + validator.1 + FieldBlock.encode(representation)
        return Int64(bytes.withUnsafeBytes { CRC32C.of($0) })
    }

    /// Returns the columns that the sealed header block authenticates.
    static func authenticatedFacts(kind: Int64, length: Int64?, requestTime: Int64, responseTime: Int64) -> [Int64] {
        [kind, length ?? -1, requestTime, responseTime]
    }

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
}

extension IndexFields {
    /// Returns the generation of a commit and its description: the length, the kind and value of the
    /// validator, the header block, both times, the content coding and the check.
    func description(of commit: StoreCommit) -> [any SQLiteValue] {
        let representation = commit.representation
        var owner = Owner(keyHash: hash(of: commit.key), generation: commit.generation)
        let kind = RepresentationColumns.ValidatorKind(representation.validator)
        let validator: any SQLiteValue =
            switch representation.validator {
            case .strong(let tag), .weak(let tag): value(tag, .validator, of: owner)
            case .lastModified(let time, _): value(time.nanoseconds, .validator, of: owner)
            case .none: nil as Int64?
            }
        owner.facts = RepresentationColumns.authenticatedFacts(
            kind: kind.rawValue, length: representation.length, requestTime: representation.requestTime.nanoseconds,
            responseTime: representation.responseTime.nanoseconds)
        // In an encrypted store the sealed block also contains the extension. Its column is for the
        // names of files, and the names of encrypted files have no extension.
        let block = FieldBlock.encode(representation)
        let extensionLine = isSealed ? Array(commit.fileExtension.utf8) + [UInt8(ascii: "\n")] : []
        // Sealed fields are authenticated and need no check.
        let check = RepresentationColumns.factsCheck(keyHash: owner.keyHash, generation: commit.generation, representation)
        return [
            commit.generation, representation.length, kind.rawValue, validator, value(extensionLine + block, .headerBlock, of: owner),
            representation.requestTime, representation.responseTime, isSealed ? nil : representation.contentCoding, isSealed ? nil : check,
        ]
    }

    /// Returns the validator of two columns, kind and value, or nil when the value is sealed and
    /// does not open.
    ///
    /// An unknown kind counts as a missing validator, so responses are never combined with it.
    func validator(_ row: SQLiteStatement, column: Int32, of owner: Owner) -> Validator? {
        func text() -> String? { self.text(row, column + 1, .validator, of: owner) }
        func time() -> Timestamp? { self.number(row, column + 1, .validator, of: owner).map(Timestamp.init(nanoseconds:)) }
        return switch RepresentationColumns.ValidatorKind(rawValue: row.int64(column)) {
        case .strongEntityTag: text().map { .strong(entityTag: $0) }
        case .weakEntityTag: text().map { .weak(entityTag: $0) }
        case .strongDate: time().map { .lastModified($0, isStrong: true) }
        case .weakDate: time().map { .lastModified($0, isStrong: false) }
        case .some(.none), nil: Validator.none
        }
    }
}
