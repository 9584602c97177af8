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
