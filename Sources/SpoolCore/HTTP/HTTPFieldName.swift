extension HTTPFields {
    /// The name of a field. Names compare without regard to case (RFC 9110 §5.1).
    ///
    /// The names that apps need most are constants of this type, such as ``contentRange``, so that
    /// the compiler finds a misspelt one. Any other is a literal: `fields["X-Token"]`.
    public struct Name: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name as it is written to a message.
        public let text: String

        /// Creates a name from its text.
        public init(_ text: String) { self.text = text }

        /// Creates a name from a literal.
        public init(stringLiteral text: String) { self.text = text }

        /// Returns whether two names are equal without regard to case.
        public static func == (a: Self, b: Self) -> Bool { a.text.equalsIgnoringCase(b.text) }

        /// Hashes the name in lower case.
        public func hash(into hasher: inout Hasher) { hasher.combine(text.asciiLowercased) }

        /// The name as it is written to a message.
        public var description: String { text }
    }
}

extension HTTPFields.Name {
    /// `Accept` (RFC 9110 §12.5.1).
    public static var accept: Self { "Accept" }
    /// `Accept-Encoding` (RFC 9110 §12.5.3).
    package static var acceptEncoding: Self { "Accept-Encoding" }
    /// `Accept-Language` (RFC 9110 §12.5.4).
    public static var acceptLanguage: Self { "Accept-Language" }
    /// `Accept-Ranges` (RFC 9110 §14.3).
    package static var acceptRanges: Self { "Accept-Ranges" }
    /// `Access-Control-Allow-Origin` (Fetch §3.3.3).
    package static var accessControlAllowOrigin: Self { "Access-Control-Allow-Origin" }
    /// `icy-metaint` of radio servers: the number of bytes between two titles in the body.
    package static var icyMetaInt: Self { "icy-metaint" }
    /// `Age` (RFC 9111 §5.1).
    package static var age: Self { "Age" }
    /// `Authorization` (RFC 9110 §11.6.2).
    public static var authorization: Self { "Authorization" }
    /// `Cache-Control` (RFC 9111 §5.2).
    public static var cacheControl: Self { "Cache-Control" }
    /// `Cache-Status` (RFC 9211).
    package static var cacheStatus: Self { "Cache-Status" }
    /// `CDN-Cache-Control` (RFC 9213).
    package static var cdnCacheControl: Self { "CDN-Cache-Control" }
    /// `Connection` (RFC 9110 §7.6.1).
    package static var connection: Self { "Connection" }
    /// `Content-Digest` (RFC 9530 §2).
    package static var contentDigest: Self { "Content-Digest" }
    /// `Content-Encoding` (RFC 9110 §8.4).
    package static var contentEncoding: Self { "Content-Encoding" }
    /// `Content-Length` (RFC 9110 §8.6).
    public static var contentLength: Self { "Content-Length" }
    /// `Content-Location` (RFC 9110 §8.7).
    package static var contentLocation: Self { "Content-Location" }
    /// `Content-MD5` (RFC 1864).
    package static var contentMD5: Self { "Content-MD5" }
    /// `Content-Range` (RFC 9110 §14.4).
    public static var contentRange: Self { "Content-Range" }
    /// `Content-Security-Policy` (Content Security Policy §3.1).
    package static var contentSecurityPolicy: Self { "Content-Security-Policy" }
    /// `Content-Type` (RFC 9110 §8.3).
    public static var contentType: Self { "Content-Type" }
    /// `Cookie` (RFC 6265 §4.2).
    public static var cookie: Self { "Cookie" }
    /// `Date` (RFC 9110 §6.6.1).
    package static var date: Self { "Date" }
    /// `Digest` (RFC 3230).
    package static var digest: Self { "Digest" }
    /// `ETag` (RFC 9110 §8.8.3).
    public static var entityTag: Self { "ETag" }
    /// `Expect` (RFC 9110 §10.1.1).
    package static var expect: Self { "Expect" }
    /// `Expires` (RFC 9111 §5.3).
    package static var expires: Self { "Expires" }
    /// `Host` (RFC 9110 §7.2).
    package static var host: Self { "Host" }
    /// `Forwarded` (RFC 7239 §4).
    package static var forwarded: Self { "Forwarded" }
    /// `If-Match` (RFC 9110 §13.1.1).
    package static var ifMatch: Self { "If-Match" }
    /// `If-Modified-Since` (RFC 9110 §13.1.3).
    package static var ifModifiedSince: Self { "If-Modified-Since" }
    /// `If-None-Match` (RFC 9110 §13.1.2).
    package static var ifNoneMatch: Self { "If-None-Match" }
    /// `If-Range` (RFC 9110 §13.1.5).
    package static var ifRange: Self { "If-Range" }
    /// `If-Unmodified-Since` (RFC 9110 §13.1.4).
    package static var ifUnmodifiedSince: Self { "If-Unmodified-Since" }
    /// `Keep-Alive` (RFC 2068 §19.7.1).
    package static var keepAlive: Self { "Keep-Alive" }
    /// `Last-Modified` (RFC 9110 §8.8.2).
    public static var lastModified: Self { "Last-Modified" }
    /// `Location` (RFC 9110 §10.2.2).
    public static var location: Self { "Location" }
    /// `Origin` (RFC 6454 §7).
    package static var origin: Self { "Origin" }
    /// `Pragma` (RFC 9111 §5.4).
    package static var pragma: Self { "Pragma" }
    /// `Proxy-Status` (RFC 9209).
    package static var proxyStatus: Self { "Proxy-Status" }
    /// `Range` (RFC 9110 §14.2).
    public static var range: Self { "Range" }
    /// `Referer` (RFC 9110 §10.1.3).
    public static var referer: Self { "Referer" }
    /// `Referrer-Policy` (Referrer Policy §4.1).
    package static var referrerPolicy: Self { "Referrer-Policy" }
    /// `Repr-Digest` (RFC 9530 §3).
    package static var reprDigest: Self { "Repr-Digest" }
    /// `Retry-After` (RFC 9110 §10.2.3).
    package static var retryAfter: Self { "Retry-After" }
    /// `Sec-Fetch-Dest` (Fetch Metadata §2.1).
    package static var secFetchDest: Self { "Sec-Fetch-Dest" }
    /// `Sec-Fetch-Site` (Fetch Metadata §2.3).
    package static var secFetchSite: Self { "Sec-Fetch-Site" }
    /// `Set-Cookie` (RFC 6265 §4.1).
    package static var setCookie: Self { "Set-Cookie" }
    /// `Transfer-Encoding` (RFC 9112 §6.1).
    package static var transferEncoding: Self { "Transfer-Encoding" }
    /// `Upgrade` (RFC 9110 §7.8).
    package static var upgrade: Self { "Upgrade" }
    /// `User-Agent` (RFC 9110 §10.1.5).
    public static var userAgent: Self { "User-Agent" }
    /// `Vary` (RFC 9110 §12.5.5).
    package static var vary: Self { "Vary" }
    /// `Via` (RFC 9110 §7.6.3).
    package static var via: Self { "Via" }
    /// `WWW-Authenticate` (RFC 9110 §11.6.1).
    package static var wwwAuthenticate: Self { "WWW-Authenticate" }
    /// `X-Content-Type-Options` (Fetch §3.6).
    package static var xContentTypeOptions: Self { "X-Content-Type-Options" }
    /// `X-Forwarded-For`, the clients of proxies, the first proxy's client first.
    package static var xForwardedFor: Self { "X-Forwarded-For" }
    /// `X-Forwarded-Host`, the authority that the first proxy was asked by.
    package static var xForwardedHost: Self { "X-Forwarded-Host" }
    /// `X-Forwarded-Proto`, the scheme that the first proxy was asked by.
    package static var xForwardedProto: Self { "X-Forwarded-Proto" }
    /// `X-Real-IP`, the client of a proxy.
    package static var xRealIP: Self { "X-Real-IP" }
}
