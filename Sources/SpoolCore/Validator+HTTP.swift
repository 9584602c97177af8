extension Validator {
    /// What identifies the representation of a response with these fields.
    ///
    /// The first that is there of: a strong entity tag, a strong modification date, a weak tag, a weak date.
    /// A modification date is strong when `Date` lies at least one second after it (RFC 9110 §8.8.2.2).
    /// A tag or date that was sent twice with different values identifies nothing, and neither does a tag
    /// longer than `EntityTag.maxBytes`: then the validator is `.none`, whatever else was sent.
    package init(fields: HTTPFields) {
        let tag = fields.single("ETag"), modified = fields.single("Last-Modified")
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
        // Differing dates tell nothing about the clock.
        let date = fields.single("Date").value.flatMap { HTTPDate.parse($0) }
        let isStrong = date.map { modified < $0 && $0.nanoseconds.subtractingSaturated(modified.nanoseconds) >= .seconds(1) }
        return .lastModified(modified, isStrong: isStrong ?? false)
    }

    /// The value of `If-Range` that asks for more bytes of this representation only; nil unless strong (RFC 9110 §13.1.5).
    package var ifRangeValue: String? {
        switch self {
        case .strong(let tag): tag
        case .lastModified(let date, isStrong: true): HTTPDate.format(date)
        case .lastModified, .weak, .none: nil
        }
    }

    /// The entity tag as it is sent, in `If-None-Match` for one; nil when there is none.
    package var entityTagValue: String? {
        switch self {
        case .strong(let tag), .weak(let tag): tag
        case .lastModified, .none: nil
        }
    }
}
