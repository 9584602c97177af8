package import SpoolCore
public import SpoolOrigin
package import SpoolSystem

/// An origin and its transport in one: a `Transport` with computed responses that follow a script.
///
/// All work runs as jobs of the given mailbox and on timers of the given clock. With those of the
/// simulator, a run replays from its seed. With a lane, it is an ordinary asynchronous transport. A
/// transfer without any byte for `silenceTimeout` ends with `.timeout`, as with a real transport;
/// pauses do not count.
public final class ScriptedOrigin: Transport {
    private struct State {
        var resources: [String: VirtualResource] = [:]
        var script: OriginScript
        var isOffline = false
        var isClosed = false
        var transfers: [Int: ScriptedTransfer] = [:]

        /// The running transfers in the order of their requests, because no result may depend on
        /// hash order.
        var inOrder: [ScriptedTransfer] { transfers.keys.sorted().compactMap { transfers[$0] } }
    }

    /// The requests and responses.
    public let log = OriginLog()
    /// The most bytes that one request should ask for.
    public let windowBytes: Int64?
    let mailbox: any Mailbox
    let time: any TimeSource
    let random: any RandomSource
    /// The longest silence of a transfer in nanoseconds, or nil for unlimited.
    let silenceTimeout: Nanoseconds?
    private let state: Locked<State>

    /// Creates an origin that serves `resources`.
    ///
    /// - Parameters:
    ///   - mailbox: Runs the work of all transfers.
    ///   - time: The clock and timers.
    ///   - random: Draws latencies and chunk sizes.
    ///   - windowBytes: The value that the transport reports.
    ///   - silenceTimeout: The longest silence of a transfer, or nil for unlimited.
    ///   - script: Chooses the behaviour for each request. By default every response is correct.
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

    /// Creates an origin that serves `resources` on a thread of its own, for the tests of an app.
    ///
    /// ```swift
    /// let film = VirtualResource(url: "https://media.test/film.mp4", seed: 1, length: 5_000_000)
    /// let origin = ScriptedOrigin([film])
    /// let cache = try MediaCache.inMemory(origin: origin)
    /// ```
    ///
    /// - Parameters:
    ///   - resources: The resources to serve. Every other URL is answered with 404.
    ///   - clock: The clock of latencies and time-outs, or nil for the real time.
    ///   - seed: Determines the latencies and chunk sizes that are drawn from ranges.
    ///   - script: Chooses the behaviour for each request. By default every response is correct.
    public convenience init(
        _ resources: [VirtualResource] = [], clock: ManualTime? = nil, seed: UInt64 = 1,
        script: @escaping OriginScript = { _, _ in .correct }
    ) {
        self.init(
            resources, mailbox: DiskLane(name: "scripted-origin"), time: clock ?? SystemTime(), random: SeededRandom(seed: seed),
            script: script)
    }

    // MARK: What it serves

    /// Serves `resource` from now on, instead of the earlier resource of its URL. Responses that
    /// have begun go on unchanged.
    public func serve(_ resource: VirtualResource) {
        state.withLock { $0.resources[resource.url] = resource }
    }

    /// Answers 404 at `url` from now on.
    public func remove(_ url: String) {
        _ = state.withLock { $0.resources.removeValue(forKey: url) }
    }

    /// Follows another script from the next request on.
    public func follow(_ script: @escaping OriginScript) {
        state.withLock { $0.script = script }
    }

    /// Fails every new request with `.unreachable` while offline.
    ///
    /// - Parameter breaksTransfers: Whether running transfers break off too, as after a loss of the
    ///   network.
    public func setOffline(_ isOffline: Bool, breaksTransfers: Bool = false) {
        let transfers = state.withLock { state in
            state.isOffline = isOffline
            return isOffline && breaksTransfers ? state.inOrder : []
        }
        for transfer in transfers { mailbox.post { transfer.breakOff() } }
    }

    // MARK: Transport

    /// Starts a request. The receiver is called in jobs of the mailbox.
    public func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
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

    /// The most bytes of a request body.
    private static let maxBodyBytes = 64 << 20

    /// Answers once the body of the request is complete.
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

    /// Ends every transfer with `.cancelled`.
    public func close() {
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
        // The ranges here are short compared with 2^64, so the remainder is uniform enough.
        return range.lowerBound + Int64(random.next() % UInt64(range.upperBound - range.lowerBound + 1))
    }
}
