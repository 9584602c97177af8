/// The conditions of a client's GET or HEAD, evaluated against a stored representation (RFC 9110 §13, RFC 9111 §4.3.2).
///
/// `If-Match` and `If-Unmodified-Since` are the origin's business, not a cache's, and are not looked at.
package enum Precondition {
    /// What the conditions say.
    package enum Outcome: Hashable, Sendable {
        /// Answer 304.
        case notModified
        /// Answer with bytes; `Range` is ignored when `honoursRange` is false, because `If-Range` names another version.
        case proceed(honoursRange: Bool)
    }

    /// The outcome, in the order of RFC 9110 §13.2.2: `If-None-Match`, else `If-Modified-Since`, then `If-Range`.
    package static func evaluate(fields: HTTPFields, representation: Representation) -> Outcome {
        if isNotModified(fields, representation) { return .notModified }
        let conditions = fields.values(of: "If-Range")
        return .proceed(honoursRange: conditions.allSatisfy { ifRangeMatches($0, representation: representation) })
    }

    /// Whether the value of `If-Range` names this representation, so that `Range` may be answered (RFC 9110 §13.1.5).
    ///
    /// A tag matches by strong comparison. A date matches when `Last-Modified` is strong and exactly the same.
    package static func ifRangeMatches(_ value: String, representation: Representation) -> Bool {
        if !value.hasPrefix("\""), let date = HTTPDate.parse(value) {
            guard case .lastModified(let modified, isStrong: true) = representation.modificationDate else { return false }
            return date == modified
        }
        guard let asked = EntityTag(value), let tag = representation.entityTag else { return false }
        return asked.matchesStrongly(tag)
    }

    private static func isNotModified(_ fields: HTTPFields, _ representation: Representation) -> Bool {
        if let condition = fields.combined("If-None-Match") {
            // `If-Modified-Since` does not count beside it.
            return EntityTagCondition(condition).matches(representation.entityTag)
        }
        let dates = fields.values(of: "If-Modified-Since")
        guard dates.count == 1, let since = HTTPDate.parse(dates[0], now: representation.responseTime) else { return false }
        return representation.timeOfChange <= since
    }
}

extension Representation {
    /// The entity tag that was stored, strong or weak.
    package var entityTag: EntityTag? {
        (validator.entityTagValue ?? fields["ETag"]).flatMap(EntityTag.init)
    }

    /// `Last-Modified` and whether it is strong, also where an entity tag is the stronger validator.
    fileprivate var modificationDate: Validator {
        if case .lastModified = validator { return validator }
        var dates = fields
        dates["ETag"] = nil
        return Validator(fields: dates)
    }

    /// What `If-Modified-Since` is compared with: `Last-Modified`, else `Date`, else when the response came (RFC 9111 §4.3.2).
    fileprivate var timeOfChange: Timestamp {
        if case .lastModified(let modified, _) = modificationDate { return modified }
        return fields["Date"].flatMap { HTTPDate.parse($0) } ?? responseTime
    }
}
