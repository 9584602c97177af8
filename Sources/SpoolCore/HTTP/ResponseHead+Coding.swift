extension ResponseHead {
    /// Whether the response has a body with a content coding.
    package var hasCodedBody: Bool { status != 204 && status != 304 && fields.contentCoding != nil }

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

extension HTTPFields {
    /// The content codings that a client removes, as the origin named them, or nil.
    ///
    /// Clients ignore an empty value, `identity`, and names of no coding (`utf-8`, `aws-chunked`),
    /// which are a common mistake in the settings of object stores.
    package var contentCoding: String? {
        names(listedIn: .contentEncoding).contains(where: Self.codings.contains) ? combined(.contentEncoding) : nil
    }

    /// Whether the message is compressed, and not its content (RFC 9112 §7.2). Clients ignore names
    /// of no coding here, too.
    package var isCompressedOnTheWay: Bool { names(listedIn: .transferEncoding).contains(where: Self.codings.contains) }

    /// Whether the body has one coding, gzip or deflate.
    ///
    /// A few bytes of two codings, or of another one, may stand for gigabytes. A decoder on an event
    /// loop would hold every other transfer.
    package var hasDecodableCoding: Bool {
        let names = names(listedIn: .contentEncoding).filter { !$0.isEmpty && $0 != "identity" }
        return names.count == 1 && names.allSatisfy(["gzip", "x-gzip", "deflate"].contains)
    }

    /// The codings of IANA's registry that browsers, and libcurl, remove.
    private static let codings: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress", "dcb", "dcz"]
}
