/// Evaluates the conditions of a client's GET or HEAD against a stored representation (RFC 9110
/// §13, RFC 9111 §4.3.2).
///
/// A cache may ignore `If-Match` and `If-Unmodified-Since` (RFC 9110 §13.1.1). A client that resumes a
/// download by them would then get bytes of another version, so they are evaluated.
package enum Precondition {
    /// The result of evaluating the conditions.
    package enum Outcome: Hashable, Sendable {
        /// Respond with 412, if this is the representation that the origin has.
        case failed
        /// Respond with 304.
        case notModified
        /// Respond with bytes. `Range` is ignored when `honoursRange` is false, because `If-Range`
        /// names another version.
        case proceed(honoursRange: Bool)
    }

    /// Evaluates the conditions in the order of RFC 9110 §13.2.2: `If-Match`, else
    /// `If-Unmodified-Since`; `If-None-Match`, else `If-Modified-Since`; then `If-Range`.
    package static func evaluate(fields: HTTPFields, representation: Representation) -> Outcome {
        if isAnother(fields, representation) { return .failed }
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

    /// The tags that `If-None-Match` names; empty for `*`.
    package static func tags(of fields: HTTPFields) -> [String] {
        guard case .tags(let tags)? = fields.combined(.ifNoneMatch).map(EntityTagCondition.init) else { return [] }
        return tags.map(\.fieldValue)
    }

    /// Whether the client demands another version than this one. Tags compare strongly, and a
    /// response without a date fulfils every condition on dates (RFC 9110 §13.1.1, §13.1.4).
    private static func isAnother(_ fields: HTTPFields, _ representation: Representation) -> Bool {
        if let condition = fields.combined(.ifMatch).map(EntityTagCondition.init) {
            guard case .tags(let tags) = condition else { return false }
            return !tags.contains { tag in representation.entityTag.map(tag.matchesStrongly) == true }
        }
        guard case .lastModified(let modified, _) = representation.modificationDate else { return false }
        let since = fields.single(.ifUnmodifiedSince).value.flatMap { HTTPDate.parse($0, now: representation.responseTime) }
        return since.map { modified > $0 } == true
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
