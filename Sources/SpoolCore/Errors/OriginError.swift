/// An error of an origin, or of the way to it.
///
/// A later version may add cases. Outside this package, a `switch` needs `@unknown default` or
/// `default`.
#if compiler(>=6.3)
@nonexhaustive
#endif
public enum OriginError: Error, Hashable, Sendable {
    /// The name was not found, the connection was refused or reset before a response, or there is
    /// no route.
    case unreachable(String)
    /// The origin sent nothing for too long: while connecting, before the first byte, or between
    /// two bytes.
    case timeout(String)
    /// TLS failed: the certificate, the name or the handshake.
    case tls(String)
    /// The origin returned this status. `fields` has those of its response fields that help to
    /// handle it (`OriginError.tellingFields`).
    case status(Int, fields: HTTPFields = [:])
    /// The representation is not the one that was requested.
    case representationChanged
    /// The range begins at or after the end. The length is nil if the origin did not state it.
    case rangeNotSatisfiable(length: Int64?)
    /// The body ended early, after this number of its bytes.
    case truncated(afterBytes: Int64)
    /// The response breaks HTTP in a way that makes it unusable.
    case malformed(String)
    /// A redirect that is not followed: too many, to another scheme, or without a target.
    case redirect(String)
    /// Spool does not ask this URL, for the reason that the text states: a public name or a public
    /// origin leads to a private address. A client may ask it without Spool.
    case notAsked(url: String, String)
    /// The URL is not an absolute `http` or `https` URL.
    case unsupportedURL(String)
    /// The network policy does not permit the request under the present conditions.
    case networkRefused(NetworkRefusal)
}

extension OriginError: CustomStringConvertible {
    /// The error in one line for people.
    public var description: String {
        switch self {
        case .unreachable(let why): "the origin can't be reached: \(why)"
        case .timeout(let why): "the origin is silent: \(why)"
        case .tls(let why): "TLS with the origin failed: \(why)"
        case .status(let status, _): "the origin answered \(status)"
        case .representationChanged: "the resource changed at its origin while it was read"
        case .rangeNotSatisfiable(let length?): "the range lies beyond the end of the resource: it has \(length) bytes"
        case .rangeNotSatisfiable(nil): "the range lies beyond the end of the resource, by the origin's answer"
        case .truncated(let bytes): "the origin's answer ended early, after \(bytes) bytes"
        case .malformed(let why): "the origin's answer can't be used: \(why)"
        case .redirect(let why): "the origin's redirect is not followed: \(why)"
        case .notAsked(_, let why): "the cache does not ask for it: \(why)"
        case .networkRefused(let refusal): "the origin may not be asked now: \(refusal)"
        case .unsupportedURL(let url): "only absolute http and https URLs can be cached: \(url)"
        }
    }
}

extension OriginError {
    /// The fields of an error response that are kept: when to retry, and which credentials are
    /// needed.
    package static let tellingFields: [HTTPFields.Name] = [.retryAfter, .wwwAuthenticate, .date]

    /// The error for a response with an unexpected status.
    package static func status(_ head: ResponseHead) -> OriginError {
        // A 304 names the version that it confirms.
        let names = head.status == 304 ? tellingFields + [.entityTag] : tellingFields
        let telling = head.fields.lines.filter { names.contains(where: $0.isNamed) }
        return .status(head.status, fields: HTTPFields(telling))
    }
}
