public import SpoolCore

extension Configuration {
    /// Which responses are stored, when they are used, and what distinguishes them.
    public struct Freshness: Sendable {
        /// Which responses are stored, and when stored bytes are used without asking the origin.
        /// `ReadOptions.cachePolicy` overrides the second part for one reader.
        public var policy = CachePolicy.explicit
        /// Whether several users share the stored bytes. If true, `private` responses and responses
        /// to requests with credentials are not stored, and `s-maxage` counts (RFC 9111 §3). The
        /// default is false.
        public var isShared = false
        /// How the cache distinguishes versions, for hosts whose validators are missing or
        /// unreliable. The keys are host names in lower case, or `*` for all other hosts.
        /// `Identity` describes the cost of each way.
        public var identities: [String: Identity] = [:]
        /// The rules that map URLs to keys.
        public var keyPolicy = KeyPolicy()

        /// Creates the default settings.
        public init() {}
    }
}

extension Configuration {
    /// Returns the policy for a read: a playlist follows its server's rules where stored bytes are
    /// preferred otherwise.
    package func policy(for url: MediaURL, _ asked: CachePolicy?) -> CachePolicy {
        let policy = asked ?? freshness.policy
        return policy.leavesPlaylists && playlistExtensions.contains(pathExtension(url: url.text)) ? .standard : policy
    }
}

extension CachePolicy {
    /// Whether a playlist follows its server's rules instead of this policy.
    var leavesPlaylists: Bool { self == .preferStored || self == .explicit }
}
