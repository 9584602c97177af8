/// The rule by which two responses are recognised as one version, for origins whose validators are
/// unreliable.
public enum Identity: Hashable, Sendable {
    /// Compares strong validators, as HTTP requires (RFC 9110 §15.3.7.3). The default.
    case validator
    /// Compares length and `Last-Modified`, and ignores entity tags. Suits hosts whose servers send
    /// different tags for the same file.
    case lengthAndLastModified
    /// Compares only the length. Suits origins that send no validators. A change that keeps the
    /// length is not noticed, and bytes of two versions may mix. Use this only for files that never
    /// change.
    case length

    /// Whether two responses are of one version.
    /// - Returns: nil if validators decide.
    func isSame(_ a: Representation, _ b: Representation) -> Bool? {
        switch self {
        case .validator: return nil
        case .length: return hasSameLength(a, b)
        case .lengthAndLastModified:
            guard let modified = a.fields[.lastModified] else { return false }
            return hasSameLength(a, b) && modified == b.fields[.lastModified]
        }
    }

    private func hasSameLength(_ a: Representation, _ b: Representation) -> Bool {
        guard let length = a.length else { return false }
        return length == b.length && a.contentCoding == b.contentCoding
    }
}
