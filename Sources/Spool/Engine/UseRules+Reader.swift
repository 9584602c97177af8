import SpoolCore

extension UseRules {
    /// Creates the rules by which a reader with these options uses stored bytes of `session`.
    init(of options: ReadOptions, in session: ResourceSession) {
        let configuration = session.shared.configuration
        let policy = options.cachePolicy ?? configuration.freshness.policy
        self.init(policy: policy, mode: options.mode, isShared: configuration.freshness.isShared, request: options.request)
        let name = pathExtension(url: session.url)
        isManifest = options.isManifest || (policy.leavesPlaylists && playlistExtensions.contains(name))
        namesMedia = MediaKind.isMediaExtension(name)
        part = options.part
        if policy == .explicit { longestQuestion = Self.longestQuestion(options, in: session) }
    }

    /// Returns how long a play may wait for an answer about stored media, or nil if the origin is
    /// not to be asked: its host was silent lately, or the network may not be used.
    private static func longestQuestion(_ options: ReadOptions, in session: ResourceSession) -> Nanoseconds? {
        guard options.mode != .onlyStored, session.shared.limiter.permits(FetchDemand(options.priority, access: options.access)) else {
            return nil
        }
        return session.shared.hostAnswers.withLock { $0.longestQuestion(session.host, now: session.now) }
    }
}
