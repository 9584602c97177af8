/// By what two responses are known to be of one version, where an origin's validators are not to be relied on.
public enum Identity: Hashable, Sendable {
    /// By a strong validator, as HTTP has it (RFC 9110 §15.3.7.3). The default.
    case validator
    /// By equal length and equal `Last-Modified`, whatever the entity tags: for hosts whose servers tag the same file differently.
    case lengthAndLastModified
    /// By equal length alone: for origins that give no validators. A change that keeps the length goes unseen: bytes of two versions may
    /// mix, so this is for files that never change.
    case length

    /// Whether two responses are of one version; nil where validators decide.
    func isSame(_ a: Representation, _ b: Representation) -> Bool? {
        switch self {
        case .validator: return nil
        case .length: return hasSameLength(a, b)
        case .lengthAndLastModified:
            guard let modified = a.fields["Last-Modified"] else { return false }
            return hasSameLength(a, b) && modified == b.fields["Last-Modified"]
        }
    }

    private func hasSameLength(_ a: Representation, _ b: Representation) -> Bool {
        guard let length = a.length else { return false }
        return length == b.length && a.contentCoding == b.contentCoding
    }
}
