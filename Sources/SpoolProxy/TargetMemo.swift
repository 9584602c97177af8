import SpoolCore

/// What targets meant that came before: players ask for the same few URLs again and again, and reading one costs as much as
/// a tenth of a hit. Belongs to the loop's thread.
final class TargetMemo: @unchecked Sendable {
    // Safe to share: read and written on the proxy's loop only.

    /// Targets that are remembered; when there are more, all are forgotten at once.
    private static let capacity = 256

    private struct Question: Hashable {
        var path: String
        var authority: String?
        var isFromNetwork: Bool
    }

    /// What a target means, and for a resource the key that goes with it and what hits of it need.
    struct Meaning {
        var target: ProxyTarget
        var key: ResourceKey?
        var hits: HitAnswer?
    }

    private var meanings: [Question: Meaning] = [:]
    /// The `Host` that was allowed last: it is so again.
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
