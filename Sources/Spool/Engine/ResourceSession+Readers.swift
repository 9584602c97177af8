import SpoolCore
import SpoolStore
import SpoolSystem

// New readers of a session, and its status.

extension ResourceSession {
    var liveStatus: ResourceStatus.Live {
        state.withLock { state in
            ResourceStatus.Live(
                key: key, url: url, representation: state.machine.version?.representation, stored: state.machine.version?.stored,
                readers: state.machine.readers.count, fetches: state.machine.fetches.count,
                passReason: state.machine.version?.passReason)
        }
    }

    var isIdle: Bool { state.withLock { $0.isIdle() } }

    /// The version that its readers get, once one is known.
    var generation: GenerationID? { state.withLock { $0.machine.version?.generation } }

    func reader(
        url: MediaURL, start: Int64, end: Int64?, options: ReadOptions, wantsBytes: Bool, wake: @escaping @Sendable () -> Void
    ) -> SessionReader {
        adoptRequest(url: url, options)
        shared.counters.add { $0.readers += 1 }
        shared.committer.touch(access)
        shared.recordReader(key, start, end)
        var request = ReaderRequest(
            start: start, end: end, wantsBytes: wantsBytes, policy: options.fetchPolicy ?? shared.configuration.fetching.policy,
            rules: rules(of: options))
        request.site = options.site
        request.endsSoon = options.endsSoon
        request.takesAnyStatus = options.takesAnyStatus
        request.asksWhole = options.asksWhole
        request.suffix = options.suffix
        return SessionReader(session: self, request, options: options, wake: wake)
    }

    /// Returns the rules by which a reader with these options uses stored bytes.
    private func rules(of options: ReadOptions) -> UseRules {
        let policy = options.cachePolicy ?? shared.configuration.freshness.policy
        var rules = UseRules(
            policy: policy, mode: options.mode, isShared: shared.configuration.freshness.isShared, request: options.request)
        rules.isManifest = options.isManifest || (policy == .preferStored && playlistExtensions.contains(pathExtension(url: url)))
        return rules
    }

    /// Adopts the request of the newest reader: its URL has the signature that is still valid, and
    /// its fields have the token.
    private func adoptRequest(url: MediaURL, _ options: ReadOptions) {
        guard options.mode != .onlyStored else { return }
        state.withLock { state in
            // The client of a door may not use the version. Its URL is asked once it does.
            if options.client == nil { state.request.setLocation(url) }
            state.request.followsRedirects = options.followsRedirects
            state.requester = options.requester
            if let patience = options.patience { state.patience = patience }
            state.request.isHeldBack = options.isHeldBack || DeliveryDirectives(url: url.text).isBlocking
            if !options.requestFields.lines.isEmpty {
                state.request.fields = requestFields
                for field in options.requestFields.lines { state.request.fields[field.name] = nil }
                state.request.fields.lines += options.requestFields.lines
            }
            if let access = options.access { state.access = access }
            state.machine.willAsk(with: state.request.fields, isAuthorized: url.userinfo != nil)
        }
    }
}
