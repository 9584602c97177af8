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

extension OriginError {
    /// The fields of an error's response that are kept: when to come again, and with what credentials.
    package static let tellingFields = ["Retry-After", "WWW-Authenticate", "Date"]

    /// The error that a response with an unwanted status is.
    package static func status(_ head: ResponseHead) -> OriginError {
        let telling = head.fields.lines.filter { line in tellingFields.contains { $0.equalsIgnoringCase(line.name) } }
        return .status(head.status, fields: HTTPFields(telling))
    }
}
