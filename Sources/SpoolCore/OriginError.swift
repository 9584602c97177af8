/// What can go wrong between an origin and us.
public enum OriginError: Error, Hashable, Sendable {
    /// Name not found, connection refused or reset before a response, no route.
    case unreachable(String)
    /// Nothing was heard for too long: while connecting, before the first byte, or between two.
    case timeout(String)
    /// TLS failed: certificate, name, handshake.
    case tls(String)
    /// The origin answered with this status; `fields` are those of its answer that say what to do about it (`OriginError.tellingFields`).
    case status(Int, fields: HTTPFields = [:])
    /// The representation is not the one that was asked for.
    case representationChanged
    /// The range begins at or after the end; the length where the origin told it.
    case rangeNotSatisfiable(length: Int64?)
    /// The body ended early; how many of its bytes had come.
    case truncated(afterBytes: Int64)
    /// The response breaks HTTP in a way that can't be used.
    case malformed(String)
    /// A redirect that is not followed: too many, to another scheme, without target.
    case redirect(String)
    /// This URL is not one that can be asked.
    case unsupportedURL(String)
}

extension OriginError: CustomStringConvertible {
    /// What went wrong, in one line for people.
    public var description: String {
        switch self {
        case .unreachable(let why): "the origin can't be reached: \(why)"
        case .timeout(let why): "the origin is silent: \(why)"
        case .tls(let why): "TLS with the origin failed: \(why)"
        case .status(let status, _): "the origin answered \(status)"
        case .representationChanged: "the resource changed at its origin while it was read"
        case .rangeNotSatisfiable(let length?): "the range lies beyond the end of the resource: it has \(length) bytes"
        case .rangeNotSatisfiable(nil): "the range lies beyond the end of the resource: the origin says so"
        case .truncated(let bytes): "the origin's answer ended early, after \(bytes) bytes"
        case .malformed(let why): "the origin's answer can't be used: \(why)"
        case .redirect(let why): "the origin's redirect is not followed: \(why)"
        case .unsupportedURL(let url): "only absolute http and https URLs can be cached: \(url)"
        }
    }
}

extension OriginError {
    /// The fields of an error's response that are kept: when to come again, and with what credentials.
    package static let tellingFields = ["Retry-After", "WWW-Authenticate", "Date"]

    /// The error that a response with an unwanted status is.
    package static func status(_ head: ResponseHead) -> OriginError {
        let telling = head.fields.lines.filter { line in tellingFields.contains { $0.equalsIgnoringCase(line.name) } }
        return .status(head.status, fields: HTTPFields(telling))
    }
}
