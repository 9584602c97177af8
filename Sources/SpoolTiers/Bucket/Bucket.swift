package import SpoolCore
package import SpoolOrigin
package import SpoolSystem

/// A bucket in use: its address, its health, and what this process remembers of it. The transport
/// reads it, and the uploader fills it.
package final class Bucket: Sendable {
    /// The address of the bucket.
    package let address: BucketAddress
    /// The transport for requests to the bucket itself.
    let wire: any Transport
    let time: any TimeSource
    /// The thread on which late answers are noticed.
    let mailbox: any Mailbox
    private let lateness: LatenessMonitor
    /// The rule that turns a URL into the key of a resource.
    let keyPolicy: KeyPolicy
    /// The rules by which a version is used while its origin is away. The cache may prefer its own
    /// stored bytes to those of the origin. This cache has not seen the version of a bucket itself,
    /// so HTTP's own rules hold for it.
    let rules: UseRules
    private struct State {
        var health = ServerHealth()
        var ledger = BucketLedger()
        var counts = BucketStatistics()
        var record: @Sendable (CacheEvent) -> Void = { _ in }
        var candidate: @Sendable (ResourceKey) -> Void = { _ in }
    }

    private let state = Locked(State())

    /// Creates a bucket.
    ///
    /// - Parameters:
    ///   - wire: Sends signed requests. It follows no redirects.
    ///   - time: The clock for late answers and for the rest of a bucket that failed.
    ///   - mailbox: The thread on which a late answer is noticed.
    ///   - isShared: Whether the cache serves several users.
    package init(
        _ address: BucketAddress, wire: any Transport, keyPolicy: KeyPolicy, time: any TimeSource, on mailbox: any Mailbox,
        isShared: Bool = true
    ) {
        self.address = address
        self.wire = wire
        self.keyPolicy = keyPolicy
        rules = UseRules(policy: .standard, isShared: isShared)
        self.time = time
        self.mailbox = mailbox
        lateness = LatenessMonitor(time: time, mailbox: mailbox)
    }

    /// Sets the receivers of events, and of resources that may have to be uploaded.
    func connect(record: @escaping @Sendable (CacheEvent) -> Void, candidate: @escaping @Sendable (ResourceKey) -> Void) {
        state.withLock { state in
            state.record = record
            state.candidate = candidate
        }
    }

    /// The counts at this moment.
    package var statistics: BucketStatistics { state.withLock { $0.counts } }

    func count(_ change: (inout BucketStatistics) -> Void) { state.withLock { change(&$0.counts) } }

    func note<Result>(_ change: (inout BucketLedger) -> Result) -> Result { state.withLock { change(&$0.ledger) } }

    func record(_ event: CacheEvent) { state.withLock { $0.record }(event) }

    func record(_ event: BucketEvent) { record(.tier(event)) }

    // MARK: From the transport

    /// Sends a request to the bucket itself, which has `BucketAddress.patience` to serve.
    func ask(_ request: OriginRequest, _ attempt: some BucketAttempt) -> any Transfer {
        attempt.ask.keep(wire.start(request, receiver: attempt))
        lateness.add(attempt.ask, BucketAddress.patience)
        return attempt.ask
    }

    /// Returns what is known of the object of a resource, or `.skip` while the bucket rests.
    func lookup(_ key: ResourceKey) -> BucketLedger.Lookup {
        state.withLock { state in
            let found = state.ledger.lookup(key, now: time.now)
            guard found != .skip, state.health.mayAsk(at: time.now) else { return .skip }
            state.counts.requests += 1
            return found
        }
    }

    /// Notes that the origin answered a request without credentials.
    func originAnswered(_ key: ResourceKey, _ head: ResponseHead) {
        let candidate = state.withLock { state -> (@Sendable (ResourceKey) -> Void)? in
            if let tag = BucketRules.tag(of: head) { return state.ledger.opened(key, tag: tag) ? state.candidate : nil }
            // A 304 may leave fields out. They are those of the stored response then.
            if [200, 206].contains(head.status) || !BucketRules.isForEverybody(head.fields) { state.ledger.closed(key) }
            return nil
        }
        candidate?(key)
    }

    /// Notes that the bucket answered.
    func answered() {
        if state.withLock({ $0.health.answered() }) { record(BucketEvent.serves) }
    }

    /// Notes why the bucket did not serve a resource.
    func troubled(_ trouble: BucketFetch.Trouble, _ key: ResourceKey) {
        let now = time.now
        let event = state.withLock { state -> BucketEvent? in
            switch trouble {
            case .failed(let why):
                state.counts.failures += 1
                return state.health.failed(at: now) ? .rests(why) : nil
            case .damaged:
                state.counts.damages += 1
                state.ledger.unusable(key, isDamaged: true, now: now)
                return .damage(key)
            case .replaced:
                state.ledger.unusable(key, isDamaged: false, now: now)
                return nil
            }
        }
        if let event { record(event) }
    }

    /// Notes that the bucket has no object for a resource.
    func missed(_ key: ResourceKey) {
        let now = time.now
        state.withLock { state in
            state.counts.misses += 1
            state.ledger.unusable(key, isDamaged: false, now: now)
        }
    }
}
