/// Evaluates the conditions of a client's GET or HEAD against a stored representation (RFC 9110
/// §13, RFC 9111 §4.3.2).
///
/// `If-Match` and `If-Unmodified-Since` are for the origin and not for a cache, so they are ignored
/// here.
package enum Precondition {
    /// The result of evaluating the conditions.
    package enum Outcome: Hashable, Sendable {
        /// Respond with 304.
        case notModified
        /// Respond with bytes. `Range` is ignored when `honoursRange` is false, because `If-Range`
        /// names another version.
        case proceed(honoursRange: Bool)
    }

    /// Evaluates the conditions in the order of RFC 9110 §13.2.2: `If-None-Match`, else
    /// `If-Modified-Since`, then `If-Range`.
    package static func evaluate(fields: HTTPFields, representation: Representation) -> Outcome {
        if isNotModified(fields, representation) { return .notModified }
        let conditions = fields.values(of: .ifRange)
        return .proceed(honoursRange: conditions.allSatisfy { ifRangeMatches($0, representation: representation) })
    }

    /// Whether the value of `If-Range` names this representation, so that `Range` may be honoured
    /// (RFC 9110 §13.1.5).
    ///
    /// A tag matches by strong comparison. A date matches when `Last-Modified` is strong and
    /// exactly the same.
    package static func ifRangeMatches(_ value: String, representation: Representation) -> Bool {
        if !value.hasPrefix("\""), let date = HTTPDate.parse(value) {
            guard case .lastModified(let modified, isStrong: true) = representation.modificationDate else { return false }
            return date == modified
        }
        guard let asked = EntityTag(value), let tag = representation.entityTag else { return false }
        return asked.matchesStrongly(tag)
    }

    private static func isNotModified(_ fields: HTTPFields, _ representation: Representation) -> Bool {
        if let condition = fields.combined(.ifNoneMatch) {
            // `If-Modified-Since` is ignored beside it.
            return EntityTagCondition(condition).matches(representation.entityTag)
        }
        let dates = fields.values(of: .ifModifiedSince)
        guard dates.count == 1, let since = HTTPDate.parse(dates[0], now: representation.responseTime) else { return false }
        return representation.timeOfChange <= since
    }
}

extension Representation {
    /// The stored entity tag, strong or weak.
    package var entityTag: EntityTag? {
        (validator.entityTagValue ?? fields[.entityTag]).flatMap(EntityTag.init)
    }

    /// `Last-Modified` and whether it is strong, even where an entity tag is the stronger
    /// validator.
    fileprivate var modificationDate: Validator {
        if case .lastModified = validator { return validator }
        var dates = fields
        dates[.entityTag] = nil
        return Validator(fields: dates)
    }

    /// The time that `If-Modified-Since` is compared with: `Last-Modified`, else `Date`, else the
    /// arrival of the response (RFC 9111 §4.3.2).
    fileprivate var timeOfChange: Timestamp {
        if case .lastModified(let modified, _) = modificationDate { return modified }
        return fields[.date].flatMap { HTTPDate.parse($0) } ?? responseTime
    }
}
