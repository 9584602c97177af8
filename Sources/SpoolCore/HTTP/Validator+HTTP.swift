extension Validator {
    /// Creates the validator of a response with these fields.
    ///
    /// The first of these that the response has: a strong entity tag, a strong modification date, a
    /// weak tag, a weak date. A modification date is strong if `Date` lies at least one second
    /// after it (RFC 9110 §8.8.2.2). If a tag or date has several different values, or the tag is
    /// longer than `EntityTag.maxBytes`, the validator is `.none`, whatever other fields there are.
    package init(fields: HTTPFields) {
        let tag = fields.single(.entityTag), modified = fields.single(.lastModified)
        let entityTag = tag.value.flatMap(EntityTag.init)
        let isUnusable = entityTag == nil && tag.value?.isEmpty == false
        if tag == .conflicting || modified == .conflicting || isUnusable {
            self = .none
        } else {
            self = Self.strongest(entityTag, modified.value.flatMap { Self.lastModified($0, fields: fields) })
        }
    }

    private static func strongest(_ tag: EntityTag?, _ date: Validator?) -> Validator {
        if let tag, !tag.isWeak { return .strong(entityTag: tag.fieldValue) }
        if let date, date.isStrong { return date }
        if let tag { return .weak(entityTag: tag.fieldValue) }
        return date ?? .none
    }

    private static func lastModified(_ value: String, fields: HTTPFields) -> Validator? {
        guard let modified = HTTPDate.parse(value) else { return nil }
        // Differing `Date` lines give no reliable time.
        let date = fields.single(.date).value.flatMap { HTTPDate.parse($0) }
        let isStrong = date.map { modified < $0 && $0.nanoseconds.subtractingSaturated(modified.nanoseconds) >= .seconds(1) }
        return .lastModified(modified, isStrong: isStrong ?? false)
    }

    /// The value of `If-Range` that requests further bytes of this representation only; nil unless
    /// the validator is strong (RFC 9110 §13.1.5).
    package var ifRangeValue: String? {
        switch self {
        case .strong(let tag): tag
        case .lastModified(let date, isStrong: true): HTTPDate.format(date)
        case .lastModified, .weak, .none: nil
        }
    }

    /// The entity tag as it is sent, for example in `If-None-Match`; nil without a tag.
    package var entityTagValue: String? {
        switch self {
        case .strong(let tag), .weak(let tag): tag
        case .lastModified, .none: nil
        }
    }
}
