package import Spool
package import SpoolCore
package import SpoolJSON

// The JSON of a resource: one for `spool ls --json`, `/_spool/api/resources` and the page. Programs
// read its members, which docs/json.md lists. Times are in seconds since 1970.

extension ResourceStatus {
    /// Returns the status as one JSON object.
    ///
    /// - Parameters:
    ///   - limit: The most stored ranges in it.
    ///   - further: Members that only one of the lists has.
    package func json(ranges limit: Int = .max, _ further: [(String, JSON)] = []) -> JSON {
        .object(
            [
                ("key", .string(key.string)), ("url", .string(url)), ("length", JSON(representation.length)),
                ("type", JSON(representation.contentType)), ("validator", JSON(representation.validator.text)),
                ("validatorIsStrong", .bool(representation.validator.isStrong)),
                ("fetchedAt", .integer(representation.responseTime.seconds)), ("lastAccess", JSON(lastAccess?.seconds)),
                ("pinned", .bool(isPinned)), ("complete", .bool(isComplete)),
            ] + stored.members(ranges: limit) + [("notStored", JSON(notStoredBecause))] + further)
    }
}

extension ResourceStatus.Live {
    /// Returns the state of a session as one JSON object, with the same names.
    func json(ranges limit: Int) -> JSON {
        .object(
            [("key", .string(key.string)), ("length", JSON(representation?.length))]
                + (stored ?? ByteRangeSet()).members(ranges: limit)
                + [
                    ("notStored", JSON(passReason?.description)), ("readers", .integer(Int64(readers))),
                    ("fetches", .integer(Int64(fetches))),
                ])
    }
}

extension ByteRangeSet {
    fileprivate func members(ranges limit: Int) -> [(String, JSON)] {
        [("storedBytes", .integer(totalBytes)), ("stored", json(limit: limit))]
    }

    /// Returns the first ranges as pairs of the first offset and the one after the last.
    package func json(limit: Int = .max) -> JSON {
        .array(ranges.prefix(limit).map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })
    }

    /// Reads the pairs of `json(limit:)`. Values of another form are skipped.
    package init(_ json: JSON?) {
        self.init(
            (json?.elements ?? []).compactMap { pair in
                let offsets = pair.elements.compactMap(\.integer)
                return offsets.count == 2 && offsets[0] >= 0 ? ByteRange(offsets[0], offsets[1]) : nil
            })
    }
}

extension Verification {
    /// The result as members of a JSON object.
    ///
    /// - Parameter limit: The most damaged ranges in it.
    package func members(ranges limit: Int = .max) -> [(String, JSON)] {
        [
            ("key", .string(key.string)), ("url", .string(url)), ("soundBytes", .integer(soundBytes)),
            ("uncheckedBytes", .integer(uncheckedBytes)), ("damagedBytes", .integer(damaged.totalBytes)),
            ("damaged", damaged.json(limit: limit)), ("repaired", .bool(isRepaired)),
        ]
    }

    /// Reads a result, or returns nil for an answer of another version.
    package init?(_ json: JSON) {
        guard let key = json["key"]?.string, let url = json["url"]?.string, let sound = json["soundBytes"]?.integer,
            let unchecked = json["uncheckedBytes"]?.integer, let damaged = json["damaged"], let isRepaired = json["repaired"]?.isTrue
        else { return nil }
        self.init(key: ResourceKey(normalized: key), url: url)
        (soundBytes, uncheckedBytes, self.damaged, self.isRepaired) = (sound, unchecked, ByteRangeSet(damaged), isRepaired)
    }
}

extension Validator {
    /// The validator in HTTP form, or nil when there is none.
    package var text: String? {
        switch self {
        case .strong(let entityTag), .weak(let entityTag): entityTag
        case .lastModified(let time, _): HTTPDate.format(time)
        case .none: nil
        }
    }
}
