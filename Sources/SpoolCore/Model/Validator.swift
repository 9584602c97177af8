/// The validator that identifies a representation across requests (RFC 9110 §8.8).
public enum Validator: Hashable, Sendable {
    /// A strong entity tag with its quotes, as the origin sent it. Its octets are opaque.
    case strong(entityTag: String)
    /// A weak entity tag, including `W/`. Never used to combine bytes.
    case weak(entityTag: String)
    /// A modification date. It is strong only if it lies at least one second before `Date` (RFC
    /// 9110 §8.8.2.2).
    case lastModified(Timestamp, isStrong: Bool)
    /// The origin sent no validator.
    case none

    /// Whether bytes of two responses with this validator may be combined (RFC 9110 §15.3.7.3, RFC
    /// 9111 §3.4).
    public var isStrong: Bool {
        switch self {
        case .strong: true
        case .lastModified(_, let isStrong): isStrong
        case .weak, .none: false
        }
    }
}
