package import SpoolCore
package import SpoolOrigin
package import SpoolSystem

/// An origin and the way to it in one: a `Transport` whose answers are computed and follow a script.
///
/// Everything happens as jobs of the mailbox that it was given and on timers of the clock that it was given: with the
/// simulator's a run replays from its seed, with a lane's it is an ordinary asynchronous transport.
/// A transfer that hears nothing ends with `.timeout` after `silenceTimeout`, as with a real transport; paused time does not count.
package final class ScriptedOrigin: Transport {
    private struct State {
        var resources: [String: VirtualResource] = [:]
        var script: OriginScript
        var isOffline = false
        var isClosed = false
        var transfers: [Int: ScriptedTransfer] = [:]

        /// The transfers under way in the order of their requests: nothing may depend on hash order.
        var inOrder: [ScriptedTransfer] { transfers.keys.sorted().compactMap { transfers[$0] } }
    }

    /// What was asked and what was given.
    package let log = OriginLog()
    package let windowBytes: Int64?
    let mailbox: any Mailbox
    let time: any TimeSource
    let random: any RandomSource
    /// How long a transfer may hear nothing, in nanoseconds; nil waits for ever.
    let silenceTimeout: Nanoseconds?
    private let state: Locked<State>

    /// An origin that serves `resources`.
    ///
    /// - Parameters:
    ///   - windowBytes: what the transport is to say of itself.
    ///   - script: chooses what to do with each request; everything is correct without it.
    package init(
        _ resources: [VirtualResource] = [], mailbox: any Mailbox, time: any TimeSource, random: any RandomSource,
        windowBytes: Int64? = nil, silenceTimeout: Nanoseconds? = .seconds(8), script: @escaping OriginScript = { _, _ in .correct }
    ) {
        self.mailbox = mailbox
        self.time = time
        self.random = random
        self.windowBytes = windowBytes
        self.silenceTimeout = silenceTimeout
        state = Locked(State(script: script))
        for resource in resources { serve(resource) }
    }

    // MARK: What it serves

    /// Serves `resource` from now on, instead of what its URL named before. Answers that began go on as they are.
    package func serve(_ resource: VirtualResource) {
        state.withLock { $0.resources[resource.url] = resource }
    }

    /// Answers 404 at `url` from now on.
    package func remove(_ url: String) {
        _ = state.withLock { $0.resources.removeValue(forKey: url) }
    }

    /// Follows another script from the next request on.
    package func follow(_ script: @escaping OriginScript) {
        state.withLock { $0.script = script }
    }

    /// While offline every new request is `.unreachable`.
    ///
    /// - Parameter breaksTransfers: whether those under way break off too, as when a network goes away.
    package func setOffline(_ isOffline: Bool, breaksTransfers: Bool = false) {
        let transfers = state.withLock { state in
            state.isOffline = isOffline
            return isOffline && breaksTransfers ? state.inOrder : []
        }
        for transfer in transfers { mailbox.post { transfer.breakOff() } }
    }

    // MARK: Transport

    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let ordinal = log.requested(request, at: time.wallNow)
        let script = state.withLock { $0.script }
        let behaviour = script(request, ordinal)
        let transfer = ScriptedTransfer(ordinal: ordinal, receiver: receiver, origin: self)
        let answer = state.withLock { state -> OriginAnswer? in
            guard !state.isClosed else { return nil }
            state.transfers[ordinal] = transfer
            return OriginAnswer(
                to: request, resource: state.resources[request.url], behaviour: state.isOffline ? .refuse : behaviour, date: time.wallNow)
        }
        let defect = request.defect
        mailbox.post { [self] in
            if let defect { return transfer.finish(.failed(defect)) }
            guard let answer else { return transfer.finish(.cancelled) }
            guard let body = request.body else { return transfer.begin(answer, latency: draw(answer.pace.latency)) }
            receive(body, ordinal, transfer, answer)
        }
        return transfer
    }

    /// The most bytes of a request's body.
    private static let maxBodyBytes = 64 << 20

    /// Answers when the request's body is there.
    private func receive(_ body: RequestBody, _ ordinal: Int, _ transfer: ScriptedTransfer, _ answer: OriginAnswer) {
        let mailbox = mailbox
        BodyCollector.collect(body, limit: Self.maxBodyBytes, post: { mailbox.post($0) }) { [self] result in
            switch result {
            case .success(let bytes):
                log.received(bytes, ordinal)
                var answer = answer
                answer.echo(body: bytes)
                transfer.begin(answer, latency: draw(answer.pace.latency))
            case .failure(let error): transfer.finish(.failed(error))
            }
        }
    }

    package func close() {
        let transfers = state.withLock { state in
            state.isClosed = true
            return state.inOrder
        }
        for transfer in transfers { transfer.cancel() }
    }

    // MARK: For transfers

    func ended(_ ordinal: Int) {
        log.over(ordinal)
        _ = state.withLock { $0.transfers.removeValue(forKey: ordinal) }
    }

    func draw(_ range: ClosedRange<Int64>) -> Int64 {
        guard range.lowerBound < range.upperBound else { return range.lowerBound }
        // Ranges here are short beside 2^64, so the remainder is even enough.
        return range.lowerBound + Int64(random.next() % UInt64(range.upperBound - range.lowerBound + 1))
    }
}
