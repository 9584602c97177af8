import SpoolCore
import SpoolOrigin
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

    /// The version that its readers get, once one is known.
    var generation: GenerationID? { state.withLock { $0.machine.version?.generation } }

    func reader(
        url: MediaURL, start: Int64, end: Int64?, options: ReadOptions, wantsBytes: Bool, wake: @escaping @Sendable () -> Void
    ) -> SessionReader {
        let ask = ask(for: url, options)
        shared.counters.add { $0.readers += 1 }
        shared.committer.touch(access)
        shared.recordReader(key, start, end)
        var request = ReaderRequest(
            start: start, end: end, wantsBytes: wantsBytes, policy: options.fetchPolicy ?? shared.configuration.fetching.policy,
            rules: UseRules(of: options, in: self))
        request.site = options.site
        request.endsSoon = options.endsSoon
        request.takesAnyStatus = options.takesAnyStatus
        request.asksWhole = options.asksWhole
        request.suffix = options.suffix
        request.asks = ask.source
        return SessionReader(session: self, request, ask, options: options, wake: wake)
    }

    /// Returns how a reader with these options has the origin asked: its URL has the signature that
    /// is still valid, and its fields have the token. A reader of the app without fields, such as a
    /// preload, has those of the last answer.
    private func ask(for url: MediaURL, _ options: ReadOptions) -> ReaderAsk {
        let url = options.client?.url ?? url
        var ask = ReaderAsk(
            request: OriginRequest(to: url, fields: requestFields),
            patience: options.patience ?? shared.configuration.network.patience(forHost: origin.host), access: options.access,
            requester: options.requester, client: options.client)
        ask.request.followsRedirects = options.followsRedirects
        ask.request.isHeldBack = options.isHeldBack || DeliveryDirectives(url: url.text).isBlocking
        if options.client == nil, options.requestFields.lines.isEmpty {
            ask.request.fields = state.withLock { $0.lastAsk.request.fields }
            return ask
        }
        for field in options.requestFields.lines { ask.request.fields[field.name] = nil }
        ask.request.fields.lines += options.requestFields.lines
        return ask
    }
}
