/// What identifies a representation across requests (RFC 9110 §8.8).
public enum Validator: Hashable, Sendable {
    /// A strong entity tag with its quotes, as it was sent: opaque octets.
    case strong(entityTag: String)
    /// A weak entity tag, `W/` included. Never used to combine bytes.
    case weak(entityTag: String)
    /// A modification date. Strong only by the rule of RFC 9110 §8.8.2.2: at least one second before `Date`.
    case lastModified(Timestamp, isStrong: Bool)
    /// The origin gave nothing to identify the representation by.
    case none

    /// Whether bytes of two responses with this validator may be combined (RFC 9110 §15.3.7.3, RFC 9111 §3.4).
    public var isStrong: Bool {
        switch self {
        case .strong: true
        case .lastModified(_, let isStrong): isStrong
        case .weak, .none: false
        }
    }
}
