#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolSystem

/// Carries out what the state machine of one asset decides: reads from the cache, answers AVFoundation.
///
/// Everything happens on the asset's mailbox, job by job, so that a callback has returned before its request is answered and a cancel is
/// seen between two pieces. Files: this one holds requests and actions; `+Discovery` finds out what the resource is, `+Feeds` reads.
final class LoaderCore: LoadingParty, @unchecked Sendable {
    // Safe to share: constants aside, everything is touched in jobs of `mailbox` only, one at a time.
    let cache: MediaCache
    let source: LoaderSource
    let door: DoorState
    let mailbox: any Mailbox
    let report: LoaderReport
    let log: LoaderLog

    var machine: LoadingRequestStateMachine
    var requests: [LoadingRequestID: AVAssetResourceLoadingRequest] = [:]
    var readers: [LoadingFeedID: FeedReader] = [:]
    var discovery: Discovery?
    /// What the player was told; from then on it gets bytes of this version or an error.
    var told: ToldVersion?
    var wantedPriority = LoadingPriority.playing
    var isEnded = false
    private var timer: SpoolSystem.Timer?
    private var timerDeadline: MonotonicInstant?

    init(
        cache: MediaCache, source: LoaderSource, door: DoorState, mailbox: any Mailbox, report: LoaderReport, log: LoaderLog,
        limits: LoadingLimits
    ) {
        self.cache = cache
        self.source = source
        self.door = door
        self.mailbox = mailbox
        self.report = report
        self.log = log
        machine = LoadingRequestStateMachine(limits: limits)
    }

    var now: MonotonicInstant { cache.environment.time.now }

    // MARK: From AVFoundation

    func requested(_ request: AVAssetResourceLoadingRequest) {
        guard !request.isCancelled, !request.isFinished else { return }
        let ask = LoadingAsk(request)
        log.trace("asks \(ask)")
        let (id, actions) = machine.requested(ask, now: now)
        requests[id] = request
        perform(actions)
    }

    /// Matched by identity: every request of an asset has the same URL.
    func cancelled(_ request: AVAssetResourceLoadingRequest) {
        guard let id = requests.first(where: { $0.value === request })?.key else { return }
        log.trace("cancels request \(id.rawValue)")
        requests[id] = nil
        perform(machine.cancelled(id))
    }

    // MARK: From the app

    /// The asset is gone: everything that is open ends, the readers leave at once.
    func end() {
        isEnded = true
        leaveDiscovery(explicitly: true)
        perform(machine.end(.released))
    }

    func prioritized(_ priority: LoadingPriority) {
        wantedPriority = priority
        if priority != .playing { door.note(self, isHungry: false) }
        discovery?.reader.prioritize(readOptions.priority)
        for feed in readers.keys.sorted() { readers[feed]?.reader.prioritize(readOptions.priority) }
        for feed in readers.keys.sorted() { pump(feed) }
    }

    /// The source's options, as urgent as the item is.
    var readOptions: ReadOptions {
        var options = source.options
        options.priority = wantedPriority == .playing ? .playing : .upcoming
        return options
    }

    func durationLearnt(seconds: Double) {
        guard let length = told?.representation.length, let rate = Int64(exactly: (Double(length) / seconds).rounded()) else { return }
        machine.mediaRateLearnt(bytesPerSecond: rate)
    }

    /// The network or the app came back: what waits to be tried again is tried now.
    func tryAgain() {
        perform(machine.triedAgain(now: now))
    }

    func tryAgainSoon() {
        mailbox.post { [self] in tryAgain() }
    }

    // MARK: Acting

    func perform(_ actions: [LoadingAction]) {
        for action in actions { perform(action) }
        assert(machine.violations.isEmpty, "loader of \(source.key): \(machine.violations.joined(separator: "; "))")
        if machine.requests.isEmpty { door.note(self, isHungry: false) }
        // An asset that is gone is let go of, whatever it had open.
        door.note(self, isLoading: !machine.requests.isEmpty && !isEnded)
        armTimer()
    }

    private func perform(_ action: LoadingAction) {
        switch action {
        case .discover: discover()
        case .inform(let id): inform(id)
        case .open(let feed, let start, let end): open(feed, start: start, end: end)
        case .close(let feed): close(feed)
        case .finish(let id): end(id) { $0.finishLoading() }
        case .fail(let id, let failure): fail(id, failure.error)
        case .redirect(let id, let reason): redirect(id, reason)
        }
    }

    /// Answers a request for the last time, unless the player has taken it back.
    private func end(_ id: LoadingRequestID, _ answer: (AVAssetResourceLoadingRequest) -> Void) {
        guard let request = requests.removeValue(forKey: id), !request.isCancelled, !request.isFinished else { return }
        answer(request)
    }

    private func fail(_ id: LoadingRequestID, _ error: CacheError) {
        end(id) { request in
            if !isEnded {
                report.note(error)
                log.failed(error)
            }
            // Without a type of some kind the asset's `playable` never completes after a failure.
            if let information = request.contentInformationRequest, information.contentType == nil, information.allowedContentTypes == nil {
                information.contentType = ""
            }
            request.finishLoading(with: playerError(error))
        }
    }

    /// Sends the player elsewhere: only HTTP and HTTPS, and only before it was told anything.
    private func redirect(_ id: LoadingRequestID, _ reason: FallbackReason) {
        let target = source.redirectTarget(reason, cache.loopback)
        report.note(reason.error(source.key))
        end(id) { request in
            var redirect = URLRequest(url: target)
            for field in source.options.requestFields.lines { redirect.setValue(field.value, forHTTPHeaderField: field.name) }
            request.redirect = redirect
            request.response = HTTPURLResponse(
                url: request.request.url ?? target, statusCode: 302, httpVersion: "HTTP/1.1",
                headerFields: ["Location": target.absoluteString])
            request.finishLoading()
        }
    }

    // MARK: Time

    private func armTimer() {
        guard let deadline = machine.nextDeadline else {
            timer?.cancel()
            (timer, timerDeadline) = (nil, nil)
            return
        }
        // An earlier timer finds out by itself about this deadline.
        guard timerDeadline.map({ deadline < $0 }) ?? true else { return }
        timer?.cancel()
        timerDeadline = deadline
        timer = cache.environment.time.after(max(0, deadline - now), on: mailbox) { [weak self] in self?.timePassed() }
    }

    private func timePassed() {
        (timer, timerDeadline) = (nil, nil)
        perform(machine.timePassed(now: now))
    }
}

extension LoadingAsk {
    /// What a loading request of AVFoundation asks for.
    init(_ request: AVAssetResourceLoadingRequest) {
        self.init(
            wantsInformation: request.contentInformationRequest != nil,
            bytes: request.dataRequest.map {
                Bytes(offset: $0.requestedOffset, length: $0.requestedLength, toEnd: $0.requestsAllDataToEndOfResource)
            })
    }
}
#endif
