package import SpoolCore
package import SpoolOrigin
import SpoolStore

/// An S3-compatible bucket that holds finished resources: its address, its credentials, and the
/// requests to it.
///
/// A pure value. `BucketTransport` and `BucketUploader` act on it.
package struct BucketAddress: Hashable, Sendable {
    /// The beginning of every object's URL, with a slash at its end.
    private let base: MediaURL
    private let signature: RequestSignature

    /// The time in which the bucket has to connect and to bring the bytes that a request waits for.
    /// After it, the origin is asked instead.
    package static let patience: Nanoseconds = .seconds(2)

    /// The address of the bucket for logs.
    package var publicAddress: String { base.withoutUserinfo }

    /// Creates the bucket at a URL, such as `https://s3.example.com/media` or
    /// `https://media.s3.example.com/spool/`.
    ///
    /// - Returns: Nil for anything but an `http` or `https` URL without user information, query and
    ///   fragment, whose path needs no percent-encoding.
    package init?(_ text: String, signature: RequestSignature) {
        do throws(ParseError) {
            let given = try MediaURL(text.hasSuffix("/") ? text : text + "/")
            guard given.userinfo == nil, given.query == nil, !text.contains("#"), given.path.utf8.allSatisfy(Self.isPlain) else {
                return nil
            }
            base = given
        } catch {
            // The error says only that the text is no such URL.
            return nil
        }
        self.signature = signature
    }

    /// Whether every implementation of the signature takes the byte of a path as it is.
    private static func isPlain(_ byte: UInt8) -> Bool { byte.isLetter || byte.isDigit || "-._~/".utf8.contains(byte) }

    /// Returns the name of the object of a resource: the SHA-256 of its key, in hexadecimal.
    package static func name(of key: ResourceKey) -> String { SHA256Digest.of(key.string).hexadecimal }

    // MARK: Requests

    /// Returns the request for the last bytes of an object.
    package func tail(_ count: Int, of key: ResourceKey) -> OriginRequest? {
        request("GET", key, [.range: "bytes=-\(count)"])
    }

    /// Returns the request for a range of an object, or nil for an object without a tag of the
    /// bucket.
    package func part(_ range: ByteRange, of manifest: BucketManifest) -> OriginRequest? {
        var fields: HTTPFields = [.range: RangeHeader(range).fieldValue]
        // Another upload may replace the object at any time.
        if let tag = manifest.objectTag { fields.append(.ifMatch, tag) }
        return request("GET", manifest.key, fields)
    }

    /// Returns the request for the fields of an object.
    package func head(of key: ResourceKey) -> OriginRequest? { request("HEAD", key, [:]) }

    /// Returns the request that stores an object.
    ///
    /// - Parameter version: The name of the version, for the object's metadata.
    package func put(_ body: RequestBody, version: String, at key: ResourceKey) -> OriginRequest? {
        var request = request("PUT", key, [.contentType: "application/octet-stream", Self.versionField: version])
        request?.body = body
        // The answer comes after the whole body.
        request?.headTimeout = Self.storingTime
        return request
    }

    /// The field of an object's metadata that names the version of the resource.
    package static let versionField: HTTPFields.Name = "x-amz-meta-spool-version"
    /// The most time from the last byte of an upload to the answer.
    private static let storingTime: Nanoseconds = .seconds(60)

    /// A request of `spool doctor`. It concerns one object that is no resource.
    package enum Probe: Hashable, Sendable {
        /// Reads the object.
        case get
        /// Writes the object with these bytes.
        case put([UInt8])
        /// Deletes the object.
        case delete
    }

    /// The name of the object of `Probe`.
    package var probeName: String { "spool-doctor" }

    /// Returns a request of `spool doctor`.
    package func request(_ probe: Probe) -> OriginRequest? {
        switch probe {
        case .get: return request("GET", named: probeName, [:])
        case .delete: return request("DELETE", named: probeName, [:])
        case .put(let bytes):
            var request = request("PUT", named: probeName, [.contentType: "text/plain"])
            request?.body = RequestBody(bytes)
            return request
        }
    }

    private func request(_ method: String, _ key: ResourceKey, _ fields: HTTPFields) -> OriginRequest? {
        request(method, named: Self.name(of: key), fields)
    }

    private func request(_ method: String, named name: String, _ fields: HTTPFields) -> OriginRequest? {
        // Both parts were parsed before, so the result is never nil.
        guard let url = try? MediaURL(base.text + name) else { return nil }
        var request = OriginRequest(to: url, fields: fields)
        request.method = method
        request.followsRedirects = false
        request.signature = signature
        // The operator named the bucket, so it may be anywhere.
        request.reach = [OriginReach(named: [base.origin])]
        request.connectTimeout = Self.patience
        request.headTimeout = Self.patience
        return request
    }
}
