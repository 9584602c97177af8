package import SpoolCore
package import SpoolOrigin

/// The rules by which requests and responses have to do with a bucket.
///
/// A reader of the bucket gets every object in it. So it holds responses that the origin sends to
/// requests without credentials, and no response that is `private`, `no-store` or one of several
/// variants.
package enum BucketRules {
    /// Whether a request may be answered by the bucket, or be the reason of an upload.
    package static func permit(_ request: OriginRequest) -> Bool {
        guard request.method == "GET", request.body == nil, request.followsRedirects, !request.decodesContent, !request.isHeldBack,
            let url = request.location, url.userinfo == nil
        else { return false }
        return !RequestFields.mayIdentifyUser(request.fields)
    }

    /// Whether the request asks if stored bytes are current. Only the origin can answer that.
    package static func isRevalidation(_ fields: HTTPFields) -> Bool {
        fields.contains(.ifNoneMatch) || fields.contains(.ifModifiedSince)
    }

    /// Returns the strong tag of a version that the bucket may hold, or nil.
    ///
    /// - Parameter head: The answer to a request that `permit` admits.
    package static func tag(of head: ResponseHead) -> String? {
        guard [200, 206, 304].contains(head.status) else { return nil }
        return tag(of: head.fields)
    }

    /// Returns the strong tag of a version with these fields that the bucket may hold, or nil.
    package static func tag(of fields: HTTPFields) -> String? {
        guard isForEverybody(fields), fields[.contentEncoding].map({ $0.equalsIgnoringCase("identity") }) != false,
            case .strong(let tag) = Validator(fields: fields)
        else { return nil }
        return tag
    }

    /// Whether a response with these fields is the same for everybody, and may be stored anywhere.
    package static func isForEverybody(_ fields: HTTPFields) -> Bool {
        let controls = [true, false].map { CacheControl(response: fields, isShared: $0) }
        guard controls.allSatisfy({ $0.private == nil && !$0.noStore }), !fields.contains(.setCookie) else { return false }
        return fields.names(listedIn: .vary).allSatisfy(["accept-encoding", "origin"].contains)
    }
}
