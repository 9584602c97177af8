import SpoolCore

/// The meanings of earlier targets. Players request the same few URLs repeatedly, and parsing one
/// costs as much as a tenth of a hit. Belongs to the loop's thread.
final class TargetMemo: @unchecked Sendable {
    // Safe to share: read and written on the proxy's loop only.

    /// The largest number of remembered targets. When it is exceeded, all are dropped.
    private static let capacity = 256

    private struct Question: Hashable {
        var path: String
        var authority: String?
        var isFromNetwork: Bool
    }

    /// The meaning of a target. For a resource, it contains the key and the short path for hits.
    struct Meaning {
        var target: ProxyTarget
        var key: ResourceKey?
        /// Whether the resource is one of another origin, which a manifest names.
        var isForeign = false
        /// Whether a program gets the resource as its origin sends it.
        var isForProgram = false
        var hits: HitAnswer?

        /// Whether the target is a resource of an origin.
        var isResource: Bool { if case .resource = target { true } else { false } }
    }

    private var meanings: [Question: Meaning] = [:]
    /// The last authority that the host check allowed. An equal one skips the check.
    var allowedAuthority: String?

    func meaning(of path: String, authority: String?, isFromNetwork: Bool, _ read: () -> Meaning) -> Meaning {
        let question = Question(path: path, authority: authority, isFromNetwork: isFromNetwork)
        if let known = meanings[question] { return known }
        let meaning = read()
        if meanings.count >= Self.capacity { meanings.removeAll(keepingCapacity: true) }
        meanings[question] = meaning
        return meaning
    }
}
