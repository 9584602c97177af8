extension ResponseHead {
    /// Whether the response has a body with a content coding.
    package var hasCodedBody: Bool {
        guard status != 204, status != 304, let coding = fields[.contentEncoding], !coding.isEmpty else { return false }
        return !coding.equalsIgnoringCase("identity")
    }

    /// The head of a response whose transport removes the content coding of the body.
    ///
    /// Length, range and digests are about the coded bytes, so they go. A strong entity tag becomes
    /// a weak one: it still identifies the content, but no bytes of the decoded body.
    /// - Returns: nil for a part of a coded body, which has no meaning alone.
    package var withoutCoding: ResponseHead? {
        guard hasCodedBody else { return self }
        var result = self
        if status == 206 {
            guard case .part(let range, .bytes(let length))? = try? ContentRange.parse(fields), range.lowerBound == 0,
                range.upperBound == length
            else { return nil }
            result.status = 200
        }
        for name in Self.ofCodedBytes { result.fields[name] = nil }
        if let tag = fields[.entityTag].flatMap(EntityTag.init), !tag.isWeak { result.fields[.entityTag] = "W/\(tag.opaque)" }
        return result
    }

    private static let ofCodedBytes: [HTTPFields.Name] = [
        .contentEncoding, .contentLength, .contentRange, .acceptRanges, .contentMD5, .digest, .contentDigest, .reprDigest,
    ]
}
