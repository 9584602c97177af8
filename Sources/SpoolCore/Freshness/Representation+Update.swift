extension Representation {
    /// Takes over the fields of a response about this same version: a 304, or a whole response with
    /// the same validator (RFC 9111 §3.2, §4.3.4).
    ///
    /// The fields that describe the stored bytes stay: length, coding, type, range and validator.
    package mutating func update(from head: ResponseHead, requestTime: Timestamp, responseTime: Timestamp) {
        let news = storedFields(of: head.fields).lines.filter { !Self.bodyFieldNames.contains(where: $0.isNamed) }
        for line in news { fields[line.name] = nil }
        fields.lines += news
        // The age is computed anew. The `Age` of an older response must not be added to it.
        for name in Self.messageFieldNames where head.fields[name] == nil { fields[name] = nil }
        keepFinalURL(of: head)
        self.requestTime = requestTime
        self.responseTime = responseTime
        mark = VariantMark.merged(mark, with: head.mark)
    }

    /// Marks the response as changed at the origin by another request. It is used again only after
    /// the origin has confirmed it (RFC 9111 §4.4).
    ///
    /// - Parameter refusedAt: the time at which the origin answered that it has no such resource,
    ///   if that is the reason.
    package mutating func invalidate(refusedAt: Timestamp? = nil) {
        requestTime = refusedAt ?? Self.invalidatedTime
        responseTime = Self.invalidatedTime
    }

    /// The time at which the origin first answered that it has no such resource. Nil when it has
    /// confirmed the response since, or never refused it.
    package var refusedAt: Timestamp? { isInvalidated && requestTime > Self.invalidatedTime ? requestTime : nil }

    /// Whether a request has changed the resource at the origin since this response came.
    package var isInvalidated: Bool { responseTime <= Self.invalidatedTime }

    /// The time of invalidated responses: before any real one, so that their age is very large.
    private static let invalidatedTime = Timestamp(nanoseconds: .min / 4)

    /// Whether a 304 with these fields can be about this version: it names no other strong
    /// validator (RFC 9111 §4.3.4).
    package func isConsistent(with304 head: ResponseHead) -> Bool {
        guard case .strong(let tag) = Validator(fields: head.fields) else { return true }
        return validator.entityTagValue.map { $0 == tag } != false
    }

    /// The conditions of a request that asks whether this version is current (RFC 9110 §13.1.2,
    /// §13.1.3).
    package var revalidation: Revalidation {
        Revalidation(entityTag: validator.entityTagValue ?? entityTag?.fieldValue, lastModified: fields[.lastModified])
    }

    private static let bodyFieldNames: [HTTPFields.Name] = [
        .contentEncoding, .contentType, .contentRange, .contentLength, .entityTag, .lastModified, endField,
    ]
    private static let messageFieldNames: [HTTPFields.Name] = [.age]
}

/// The conditions of a revalidation request. Without any, the origin answers in full.
package struct Revalidation: Hashable, Sendable {
    /// The value of `If-None-Match`.
    package var entityTag: String?
    /// The value of `If-Modified-Since`.
    package var lastModified: String?

    /// Creates the conditions.
    package init(entityTag: String?, lastModified: String?) {
        self.entityTag = entityTag
        self.lastModified = lastModified
    }
}
