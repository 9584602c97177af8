package import Foundation
package import SpoolCore
import SpoolSystem

/// Reads one item's media as the player would: probes, opens, keeps a buffer ahead of the playing
/// position, and checks every byte.
///
/// Confined to the player's mailbox. It decides by its present state (``look()``), so a late or
/// repeated event does no harm.
package final class MediaFeeder: @unchecked Sendable {
    // Sendable for the events of its requests, all of which arrive on the player's mailbox.

    /// The phase of reading an item.
    package enum Phase: Sendable {
        /// No request yet.
        case idle
        /// A request for content information is open.
        case probing
        /// The headers are being read.
        case opening
        case ready
        /// The system loads by itself, because the loader is not asked or redirects.
        case direct(URL)
        case failed(NSError)
    }

    /// The purpose of a request.
    enum Role: Hashable {
        case probe, box, head, tail, renewal
        /// One track's samples.
        case track(Int)
    }

    struct Ask {
        let transaction: LoadingTransaction
        let data: LoadingAsk.Data?
        var role: Role
        var receivedBytes: Int64 = 0
        var lastActivity: MonotonicInstant
        /// Ends the system's patience. Cancelled at the request's end.
        var patience: SpoolSystem.Timer?
        /// No longer used, and never cancelled.
        var isForgotten = false

        /// The next byte.
        var next: Int64 { (data?.offset ?? 0) + receivedBytes }
    }

    /// The number of the feeder in its player, from 1.
    package let number: Int
    /// The layout of the item's media.
    package let media: SimulatedMedia
    let habits: PlayerHabits
    let world: PlaybackWorld
    let mailbox: any Mailbox
    /// The item that it reads for.
    package private(set) weak var item: AVPlayerItem?
    private weak var asset: AVURLAsset?
    private let wake: @Sendable () -> Void
    /// The requests and their outcomes.
    package let transcript: LoadingTranscript

    package internal(set) var phase = Phase.idle
    /// The content information of the item's resource.
    package private(set) var information: ContentInformation?
    /// The length that the player assumes.
    package internal(set) var length: Int64?
    /// The bytes that the player holds now.
    var have = ByteRangeSet()
    var asks: [Int: Ask] = [:]
    /// The steps of opening that are done.
    var opening = Opening()
    /// The playing position as a part of the whole, from 0 to 1.
    package internal(set) var position = 0.0
    /// How far ahead the player reads in its present role, or nil for the habit's value.
    var limitBytes: Int64?
    var failures = 0
    var retryAt: MonotonicInstant?
    var isWaitingForApp = false
    var hasRepeatedTail = false
    /// Whether it played to the end without a seek since.
    var hasEnded = false
    /// Whether the item is in the player's list.
    var isAttached = true

    // Counters for tests.
    /// Every byte that was delivered.
    package private(set) var delivered = ByteRangeSet()
    /// The number of delivered bytes, with repetitions.
    package private(set) var deliveredBytes: Int64 = 0
    /// The number of bytes for requests that the player no longer uses and did not cancel.
    package private(set) var unwantedBytes: Int64 = 0
    package internal(set) var cancelCount = 0
    /// The most bytes that the player held ahead of its position: memory of the app's process.
    package private(set) var mostAheadBytes: Int64 = 0
    /// The number of requests that were open when the player released the item.
    package private(set) var droppedCount = 0
    /// The last error of a request.
    package private(set) var lastError: NSError?

    init(
        number: Int, item: AVPlayerItem, media: SimulatedMedia, habits: PlayerHabits, world: PlaybackWorld, mailbox: any Mailbox,
        wake: @escaping @Sendable () -> Void
    ) {
        self.number = number
        self.item = item
        self.media = media
        self.habits = habits
        self.world = world
        self.mailbox = mailbox
        self.wake = wake
        asset = item.mediaAsset as? AVURLAsset
        transcript = LoadingTranscript(start: world.time.now)
    }

    /// The number of requests that are neither finished nor cancelled.
    package var openAskCount: Int { asks.values.filter(\.transaction.isOpen).count }

    // MARK: Life

    /// Makes the requests that are due now.
    func look() {
        guard isAttached else { return }
        switch phase {
        case .idle: begin()
        case .opening: lookOpening()
        case .ready: lookTracks()
        case .probing, .direct, .failed: break
        }
    }

    private func begin() {
        guard let asset else { return phase = .direct(URL(fileURLWithPath: "/")) }
        let scheme = asset.url.scheme?.lowercased() ?? ""
        let loadsItself = ["http", "https"].contains(scheme) && !(habits.asksForHTTP && asset.resourceLoader.delegate != nil)
        if scheme == "file" || loadsItself { return phase = .direct(asset.url) }
        phase = .probing
        for _ in 0...habits.duplicateInformation { ask(.probe, LoadingAsk.Data(offset: 0, length: 2)) }
    }

    /// Releases the item: no new request is made, and none is cancelled (C6).
    func detach() {
        isAttached = false
        droppedCount += openAskCount
        for number in asks.keys { asks[number]?.isForgotten = true }
    }

    /// Fails the item, as AVFoundation does for media that it cannot read.
    package func fail(_ error: NSError) {
        guard case .failed = phase else {
            lastError = error
            phase = .failed(habits.hidesErrors ? AVError.nsError(.unknown, underlying: error) : error)
            for number in asks.keys.sorted() { takeBack(number) }
            return
        }
    }

    // MARK: Requests

    @discardableResult
    func ask(_ role: Role, _ data: LoadingAsk.Data?) -> Int? {
        guard let asset else { return nil }
        var ask = LoadingAsk(url: asset.url, wantsInformation: role == .probe || role == .renewal, data: data)
        ask.allowedContentTypes = ask.wantsInformation ? habits.allowedContentTypes : nil
        ask.isRenewal = role == .renewal
        ask.knownLength = length
        // The transaction's number is set when `begin` returns. Its events arrive later.
        let place = Locked(0)
        let transaction = asset.resourceLoader.begin(ask, for: asset, world: world, on: mailbox) { [weak self] event in
            self?.receive(event, number: place.withLock { $0 })
        }
        place.withLock { $0 = transaction.number }
        asks[transaction.number] = Ask(transaction: transaction, data: data, role: role, lastActivity: world.runningTime)
        transcript.began(transaction.number, ask, at: world.time.now)
        watch(transaction.number, for: habits.patience)
        return transaction.number
    }

    func takeBack(_ number: Int) {
        guard let ask = remove(number), ask.transaction.isOpen else { return }
        cancelCount += 1
        transcript.cancelled(number, afterBytes: ask.receivedBytes, at: world.time.now)
        asset?.resourceLoader.cancel(ask.transaction)
    }

    func number(of role: Role) -> Int? {
        asks.filter { $0.value.role == role && !$0.value.isForgotten }.keys.min()
    }

    private func remove(_ number: Int) -> Ask? {
        let ask = asks.removeValue(forKey: number)
        ask?.patience?.cancel()
        return ask
    }

    /// Waits for two minutes without an answer, then gives up (C12).
    private func watch(_ number: Int, for delay: Nanoseconds) {
        asks[number]?.patience = world.time.after(delay, on: mailbox) { [weak self] in self?.checkPatience(number) }
    }

    private func checkPatience(_ number: Int) {
        guard let ask = asks[number], ask.transaction.isOpen else { return }
        let waited = world.runningTime - ask.lastActivity
        guard waited >= habits.patience else { return watch(number, for: habits.patience - waited) }
        ask.transaction.abandon()
        world.journal.note(.c12, "request \(number) \(transcript.words(of: number)) had no answer for \(waited / 1_000_000_000) s")
        failed(number, NSError(domain: NSURLErrorDomain, code: NSURLErrorTimedOut))
        wake()
    }

    // MARK: Events

    private func receive(_ event: LoadingEvent, number: Int) {
        guard asks[number] != nil else { return }
        asks[number]?.lastActivity = world.runningTime
        switch event {
        case .accepted: return
        case .data(let data, let offset): received(data, at: offset, number)
        case .finished(let information): finished(number, information)
        case .failed(let error):
            transcript.failed(number, afterBytes: asks[number]?.receivedBytes ?? 0, error, at: world.time.now)
            failed(number, error)
        case .refused: failed(number, AVError.nsError(.unknown, underlying: NSError(domain: NSOSStatusErrorDomain, code: -12936)))
        case .redirected(let request): redirected(number, request)
        case .cancelled:
            _ = remove(number)
            if isAttached, item != nil { fail(AVError.nsError(.operationCancelled)) }
        case .unanswered: return
        }
        wake()
    }

    private func received(_ data: Data, at offset: Int64, _ number: Int) {
        let range = ByteRange(lower: offset, upper: offset + Int64(data.count))
        if let difference = data.withUnsafeBytes({ media.firstDifference($0, offset) }) {
            world.journal.note(.r2, "byte \(offset + Int64(difference)) of request \(number) \(transcript.words(of: number)) is wrong")
        }
        delivered.insert(range)
        deliveredBytes += range.count
        asks[number]?.receivedBytes += range.count
        failures = 0
        if asks[number]?.isForgotten == true { unwantedBytes += range.count }
        if isAttached { have.insert(range) }
        mostAheadBytes = max(mostAheadBytes, aheadBytes)
    }

    private func finished(_ number: Int, _ information: ContentInformation?) {
        guard let ask = remove(number) else { return }
        transcript.finished(number, afterBytes: ask.receivedBytes, at: world.time.now)
        if let information { learned(information) }
        // An early finish is the end of the resource for the player (R5).
        if ask.role != .probe, let data = ask.data, let end = data.end(total: length), ask.next < end { length = ask.next }
    }

    private func learned(_ information: ContentInformation) {
        self.information = information
        length = information.contentLength
        if case .probing = phase {
            if habits.demandsRanges, !information.isByteRangeAccessSupported {
                return fail(AVError.nsError(.serverIncorrectlyConfigured))
            }
            phase = .opening
        }
        guard let date = information.renewalDate else { return }
        let delay = max(0, date.timeIntervalSince1970 - Double(world.time.wallNow.nanoseconds) / 1e9)
        _ = world.time.after(Nanoseconds(delay * 1e9), on: mailbox) { [weak self] in
            guard let self, isAttached, item != nil else { return }
            ask(.renewal, nil)
        }
    }

    private func redirected(_ number: Int, _ request: URLRequest) {
        _ = remove(number)
        guard habits.followsRedirects, let url = request.url else {
            return fail(AVError.nsError(.unknown, underlying: NSError(domain: "CoreMediaErrorDomain", code: -12881)))
        }
        for number in asks.keys.sorted() { takeBack(number) }
        guard habits.directOpening > 0 else { return phase = .direct(url) }
        _ = world.time.after(habits.directOpening, on: mailbox) { [weak self] in
            self?.phase = .direct(url)
            self?.wake()
        }
    }

    private func failed(_ number: Int, _ error: NSError) {
        guard let ask = remove(number), isAttached, !ask.isForgotten, ask.role != .renewal else { return }
        lastError = error
        // Another request of the same probe may have been answered.
        if ask.role == .probe {
            if case .probing = phase { fail(error) }
            return
        }
        failures += 1
        if failures <= habits.retries {
            retryAt = world.time.now + habits.retryDelay
            _ = world.time.after(habits.retryDelay, on: mailbox) { [weak self] in self?.wake() }
        } else if case .ready = phase, habits.afterRetries == .waits {
            isWaitingForApp = true
        } else {
            fail(error)
        }
    }

    /// Whether the item can play.
    var isReady: Bool {
        switch phase {
        case .ready, .direct: true
        case .idle, .probing, .opening, .failed: false
        }
    }

    /// Whether it may make requests, or has to wait after a failure.
    var mayAsk: Bool { !isWaitingForApp && (retryAt.map { $0 <= world.time.now } ?? true) }

    /// Starts the retries anew, because the app played or sought.
    func kick() {
        isWaitingForApp = false
        failures = 0
    }
}
