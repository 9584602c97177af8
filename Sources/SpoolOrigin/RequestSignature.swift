/// The credentials by which a transport signs a request for an S3-compatible store (AWS Signature
/// Version 4).
///
/// Its text forms have neither the key nor the secret, so that no log or message shows them.
package struct RequestSignature: Hashable, Sendable {
    /// The region of the store, such as `eu-central-1`.
    package let region: String
    /// The name of the access key.
    package let accessKey: String
    /// The secret key. It signs, and is never sent.
    package let secretKey: String
    /// The token of temporary credentials, which is sent with each request, or nil.
    package let sessionToken: String?

    /// Creates a signature.
    package init(region: String, accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.region = region
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// The scheme in the form of libcurl: provider, its abbreviation, region and service.
    var scheme: String { "aws:amz:\(region):s3" }

    /// The fields that every signed request needs besides its own.
    ///
    /// The signature covers the method, the path and the fields, and not the body: the body is
    /// verified on the way back by its own checksums. libcurl 7.88 takes this value over into what
    /// it signs, and does not add the field by itself.
    package var fields: [(name: String, value: String)] {
        [("x-amz-content-sha256", "UNSIGNED-PAYLOAD")] + (sessionToken.map { [("x-amz-security-token", $0)] } ?? [])
    }
}

extension RequestSignature: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a signature for \(region)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["region": region]) }
}
