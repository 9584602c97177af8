#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolProxy
import SpoolSystem

/// Performs the actions of one asset's state machine: reads from the cache and answers
/// AVFoundation.
///
/// All work runs on the asset's mailbox, job by job. So a callback has returned before its request
/// is answered, and a cancel takes effect between two pieces. This file contains requests and
/// actions, `+Discovery` the discovery of the resource, `+Feeds` the reading, and `+Renewal` fresh
/// URLs.
final class LoaderCore: @unchecked Sendable {
    // Safe to share: apart from constants, only jobs of `mailbox` use the properties, one at a
    // time.
    let cache: MediaCache
    var source: LoaderSource
    /// The key of the resource. Safe to read on any thread.
    let key: ResourceKey
    let door: DoorState
    let mailbox: any Mailbox
    let report: LoaderReport
    let log: LoaderLog

    var machine: LoadingRequestStateMachine
    var requests: [LoadingRequestID: AVAssetResourceLoadingRequest] = [:]
    var readers: [LoadingFeedID: FeedReader] = [:]
    /// The answer to the player so far. It begins with `.new`, and each state leads to later ones
    /// only.
    var stage = Stage.new
    /// The reader of the discovery, in the stage `.asked` alone.
    var discovery: Discovery?
    var wantedPriority = LoadingPriority.playing
    /// Whether a controller has an item of the asset in its list.
    private var isListed = false
    /// The number of bytes that were delivered to requests.
    var deliveredBytes: Int64 = 0
    /// Whether the store is suspended, or about to be, which may happen in every stage. Readers
    /// wait.
    var isHeld = false
    /// The renewal of the URL in progress, if any, and the number of renewals since the last byte.
    var renewal = Renewal()
    private var timer: SpoolSystem.Timer?
    private var timerDeadline: MonotonicInstant?

    init(
        cache: MediaCache, source: LoaderSource, door: DoorState, mailbox: any Mailbox, report: LoaderReport, log: LoaderLog,
        limits: LoadingLimits
    ) {
        self.cache = cache
        self.source = source
        key = source.key
        self.door = door
        self.mailbox = mailbox
        self.report = report
        self.log = log
        machine = LoadingRequestStateMachine(limits: limits)
    }

    /// The stages of an asset, by what its player got.
    enum Stage {
        /// The player has made no request.
        case new
        /// The player waits for the information.
        case asked
        /// The player got the information about this version. From now on it gets bytes of this
        /// version or an error.
        case told(ToldVersion)
        /// The player was sent to this place, and each later request is, for as long as the asset
        /// lives.
        case redirected(ProxyRoute)
        /// The asset is gone.
        case ended
    }

    /// The version whose information the player got, or nil.
    var told: ToldVersion? { if case .told(let version) = stage { version } else { nil } }
    var isEnded: Bool { if case .ended = stage { true } else { false } }

    var now: MonotonicInstant { cache.environment.time.now }

    // MARK: From AVFoundation

    func requested(_ request: AVAssetResourceLoadingRequest) {
        guard !request.isCancelled, !request.isFinished else { return }
        // A player asks again, so the item is in use again.
        if wantedPriority == .parked || (!isListed && wantedPriority == .upcoming) { prioritized(.playing) }
        let ask = LoadingAsk(request)
        source.notePlayer(request.request)
        if case .new = stage {
            stage = .asked
            door.use.assetBegan(self)
        } else {
            noteUncontrolled()
        }
        log.trace("asks \(ask)")
        // An asset whose first request comes while the store is suspended waits like the others.
        if door.use.isHeld { hold() }
        bypass()
        let (id, actions) = machine.requested(ask, now: now)
        requests[id] = request
        perform(actions)
        // The store may have come back before this loader was noted as loading.
        release()
    }

    /// Requests are matched by identity, because every request of an asset has the same URL.
    func cancelled(_ request: AVAssetResourceLoadingRequest) {
        renewal.waiting?.removeAll { $0 === request }
        guard let id = requests.first(where: { $0.value === request })?.key else { return }
        log.trace("cancels request \(id.rawValue)")
        requests[id] = nil
        perform(machine.cancelled(id))
    }

    // MARK: From the app

    /// Ends every request, and releases the readers at once, because the asset is gone.
    func end() {
        stage = .ended
        leaveDiscovery(explicitly: true)
        for request in renewal.waiting ?? [] where !request.isCancelled && !request.isFinished {
            request.finishLoading(with: playerError(LoadingFailure.released.error))
        }
        renewal.waiting = nil
        perform(machine.end(.released))
        door.use.note(self, isControlled: false)
        // The body may be complete now.
        if door.resources.fallback(of: source.key) == .openEnded { door.resources.forgetOpenEndedIfComplete(source.key, in: cache) }
    }

    /// Takes the urgency in the lists of controllers. One that leaves the last list keeps its urgency
    /// until it is parked, or asks again.
    func listed(_ isListed: Bool, _ priority: LoadingPriority) {
        self.isListed = isListed
        guard isListed else { return }
        door.use.note(self, isControlled: true)
        prioritized(priority)
    }

    /// Lets the loader count as a player of its own, unless a controller has it in a list.
    func noteUncontrolled() {
        if !isListed { door.use.note(self, isControlled: false) }
    }

    func prioritized(_ priority: LoadingPriority) {
        wantedPriority = priority
        if priority != .playing { door.note(self, isHungry: false) }
        discovery?.reader.prioritize(readOptions.priority)
        for feed in readers.keys.sorted() {
            readers[feed]?.reader.prioritize(readOptions.priority)
            // The rest of the old urgency may be long.
            readers[feed]?.rest?.cancel()
            readers[feed]?.rest = nil
        }
        for feed in readers.keys.sorted() { pump(feed) }
    }

    /// The source's options, with the urgency of the item and the present cookies.
    var readOptions: ReadOptions {
        var options = source.options
        options.priority = wantedPriority == .playing ? .playing : .upcoming
        options.requestFields = source.requestFields(now: wallNow)
        return options
    }

    /// The present time of the wall clock.
    var wallNow: Date { Date(timeIntervalSince1970: Double(cache.environment.time.wallNow.seconds)) }

    func durationLearnt(seconds: Double) {
        guard let length = told?.representation.length, let rate = Int64(exactly: (Double(length) / seconds).rounded()) else { return }
        machine.mediaRateLearnt(bytesPerSecond: rate)
    }

    /// Retries at once, because the network or the app came back.
    func tryAgain() {
        perform(machine.triedAgain(now: now))
    }

    /// Retries at once. Callable on any thread, as the methods with such names.
    func tryAgainSoon() {
        mailbox.post { [self] in tryAgain() }
    }

    /// Releases every reader, and calls `done`.
    func holdSoon(_ done: @escaping @Sendable () -> Void) {
        mailbox.post { [self] in
            hold()
            done()
        }
    }

    /// Sends the player to the original, if it has no information and the cache is bypassed.
    func bypassSoon() {
        mailbox.post { [self] in bypass() }
    }

    private func bypass() {
        guard machine.phase == .unknown || machine.phase == .discovering, cache.bypass.isOn(for: source.key),
            source.original().afterRedirect
        else { return }
        fallBack(.bypassed, isLasting: false)
    }

    /// Goes on after `holdSoon`.
    func releaseSoon() {
        mailbox.post { [self] in release() }
    }

    /// Releases every reader, because the process is about to be suspended. Requests stay open.
    private func hold() {
        guard !isHeld else { return }
        isHeld = true
        leaveDiscovery(explicitly: true)
        for feed in readers.keys.sorted() { readers.removeValue(forKey: feed)?.reader.leave(explicitly: true) }
    }

    /// Goes on after `hold`, unless the process is about to be suspended again.
    private func release() {
        guard isHeld, !door.use.isHeld else { return }
        isHeld = false
        machine.timeStoodStill(until: now)
        perform(machine.released(now: now))
    }

    // MARK: Actions

    func perform(_ actions: [LoadingAction]) {
        for action in actions { perform(action) }
        assert(machine.violations.isEmpty, "loader of \(source.key): \(machine.violations.joined(separator: "; "))")
        if machine.requests.isEmpty { door.note(self, isHungry: false) }
        // An asset that is gone is released even if it had open requests.
        door.use.note(self, isLoading: !machine.requests.isEmpty && !isEnded)
        armTimer()
    }

    private func perform(_ action: LoadingAction) {
        switch action {
        case .discover: if !isHeld { discover() }
        case .inform(let id): inform(id)
        case .open(let feed, let start, let end): if !isHeld { open(feed, start: start, end: end) }
        case .close(let feed): close(feed)
        case .finish(let id): end(id) { $0.finishLoading() }
        case .fail(let id, let failure): fail(id, failure.error)
        case .redirect(let id, let reason): redirect(id, reason)
        }
    }

    /// Gives a request its last answer, unless the player has cancelled it.
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
            // Without a content type, the asset's `playable` never completes after a failure.
            if let information = request.contentInformationRequest, information.contentType == nil, information.allowedContentTypes == nil {
                information.contentType = ""
            }
            request.finishLoading(with: playerError(error))
        }
    }

    /// Redirects the player, which works only for HTTP and HTTPS, and only before the player got
    /// information.
    private func redirect(_ id: LoadingRequestID, _ reason: FallbackReason) {
        let target = place(for: reason).url
        // The error that led here says more.
        if case .trouble(let code) = reason, report.lastError?.code == code {} else { report.note(reason.error(source.key)) }
        end(id) { request in
            var redirect = URLRequest(url: target)
            for field in source.ownFields(now: wallNow).lines { redirect.setValue(field.value, forHTTPHeaderField: field.name) }
            request.redirect = redirect
            request.response = HTTPURLResponse(
                url: request.request.url ?? target, statusCode: 302, httpVersion: "HTTP/1.1",
                headerFields: [HTTPFields.Name.location.text: target.absoluteString])
            request.finishLoading()
        }
    }

    /// Returns the place for a redirect, which is the original unless `fallBack` chose the proxy.
    /// Each place at the proxy ends with its visit, so several requests share one.
    private func place(for reason: FallbackReason) -> ProxyRoute {
        if case .redirected(let place) = stage { return place }
        let place = ProxyRoute(url: source.presentURL)
        if !isEnded { stage = .redirected(place) }
        report.redirected(toProxy: false)
        cache.record(.degradedToPassthrough(source.key, reason: "the player loads the original: \(reason.words)"))
        return place
    }

    // MARK: Time

    private func armTimer() {
        guard let deadline = machine.nextDeadline else {
            timer?.cancel()
            (timer, timerDeadline) = (nil, nil)
            return
        }
        // An earlier timer finds this deadline by itself.
        if let timerDeadline, timerDeadline <= deadline { return }
        timer?.cancel()
        timerDeadline = deadline
        timer = cache.environment.time.after(max(0, deadline - now), on: mailbox) { [weak self] in self?.timePassed() }
    }

    private func timePassed() {
        (timer, timerDeadline) = (nil, nil)
        // Requests do not run out of time while the process is suspended.
        guard !isHeld else { return }
        machine.mayFallBack = source.original().afterRedirect
        perform(machine.timePassed(now: now))
        // A late answer must not follow the player to the original.
        if case .fellBack = machine.phase { leaveDiscovery(explicitly: true) }
    }
}

extension LoadingAsk {
    /// Creates the ask of an AVFoundation loading request.
    init(_ request: AVAssetResourceLoadingRequest) {
        self.init(
            wantsInformation: request.contentInformationRequest != nil,
            bytes: request.dataRequest.map {
                Bytes(offset: $0.requestedOffset, length: $0.requestedLength, toEnd: $0.requestsAllDataToEndOfResource)
            })
    }
}
#endif
