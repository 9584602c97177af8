import Foundation
import FoundationNetworking
import SpoolCore
import SpoolSystem

/// The life of one loading request: its contents, its answers, and a check of the answers against
/// the contract.
///
/// The objects of the delegate are views of it. A breach is recorded in the world's journal. Its
/// other effects are those of the real system: a late answer is ignored, too many bytes are cut.
package final class LoadingTransaction: Sendable {
    fileprivate enum Phase {
        /// Begun, and can be answered.
        case open
        /// Cancelled, but the delegate is not notified yet, so answers are ignored.
        case cancelling
        /// Cancelled, and the delegate is notified.
        case cancelled
        /// The delegate finished.
        case finished
        /// The system gave up.
        case abandoned
    }

    fileprivate struct State {
        var phase = Phase.open
        var isAccepted = false
        /// The length of the resource from this request or an earlier one.
        var knownLength: Int64?
        var information = ContentInformation()
        var currentOffset: Int64
        var response: URLResponse?
        var redirect: URLRequest?
        weak var request: AVAssetResourceLoadingRequest?
    }

    /// The number of the request in its loader, from 1.
    package let number: Int
    /// The contents of the request.
    package let ask: LoadingAsk
    /// The asset of the request.
    let owner: ObjectIdentifier?
    /// The environment of the request.
    package let world: PlaybackWorld
    private let mailbox: any Mailbox
    private let events: @Sendable (LoadingEvent) -> Void
    private let state: Locked<State>

    init(
        number: Int, ask: LoadingAsk, owner: ObjectIdentifier?, world: PlaybackWorld, mailbox: any Mailbox,
        events: @escaping @Sendable (LoadingEvent) -> Void
    ) {
        self.number = number
        self.ask = ask
        self.owner = owner
        self.world = world
        self.mailbox = mailbox
        self.events = events
        state = Locked(State(knownLength: ask.knownLength, currentOffset: ask.data?.offset ?? 0))
    }

    /// Sets the object for the delegate, which has to retain it.
    func adopt(_ request: AVAssetResourceLoadingRequest) {
        state.withLock { $0.request = request }
    }

    // MARK: The state behind the objects

    /// Whether the request was neither finished nor cancelled.
    package var isOpen: Bool { state.withLock { $0.phase == .open } }
    /// Whether the delegate finished the request.
    package var isFinished: Bool { state.withLock { $0.phase == .finished } }
    /// Whether the system cancelled the request.
    package var isCancelled: Bool { state.withLock { $0.phase == .cancelling || $0.phase == .cancelled } }
    /// The offset of the next byte.
    package var currentOffset: Int64 { state.withLock { $0.currentOffset } }
    /// The content information so far.
    package var information: ContentInformation { state.withLock { $0.information } }

    var response: URLResponse? {
        get { state.withLock { $0.response } }
        set { state.withLock { $0.response = newValue } }
    }

    var redirect: URLRequest? {
        get { state.withLock { $0.redirect } }
        set { state.withLock { $0.redirect = newValue } }
    }

    // MARK: The loader's side

    func accepted() {
        state.withLock { $0.isAccepted = true }
        send(.accepted)
    }

    func refused() {
        abandon()
        send(.refused)
    }

    func checkEmptyAsk() {
        if isOpen { note(.l13, "request \(number), which asks nothing, is still open") }
    }

    func delegateIsGone() {
        abandon()
        note(.d7, "the delegate is gone, request \(number) stays unanswered")
        send(.unanswered)
    }

    /// Gives up the request: the system no longer waits, and later answers are breaches.
    package func abandon() {
        state.withLock { if $0.phase == .open { $0.phase = .abandoned } }
    }

    /// Begins a cancel.
    ///
    /// - Returns: Whether there is an open request to cancel.
    func beginCancel() -> Bool {
        state.withLock { state in
            guard state.phase == .open else { return false }
            state.phase = .cancelling
            return true
        }
    }

    /// Returns the request to notify the delegate about, or nil if the delegate has released it.
    func takeCancelledRequest() -> AVAssetResourceLoadingRequest? {
        state.withLock { $0.phase == .cancelling ? $0.request : nil }
    }

    func wasCancelledFromOutside() { send(.cancelled) }

    func cancelWasTold() {
        state.withLock { if $0.phase == .cancelling { $0.phase = .cancelled } }
    }

    /// Called when the delegate released the request, or the world ends.
    func requestWasReleased() {
        let isForgotten = state.withLock { $0.phase == .open && $0.isAccepted }
        if isForgotten { note(.d5, "request \(number) was accepted, then released without an answer") }
    }

    // MARK: The delegate's side

    func setInformation(_ change: (inout ContentInformation) -> Void) {
        let isLate = state.withLock { state in
            change(&state.information)
            state.information.isTouched = true
            if state.information.contentLength > 0 { state.knownLength = state.information.contentLength }
            return state.phase == .finished || state.phase == .cancelled || state.phase == .abandoned
        }
        if isLate { note(.c9, "content information of request \(number) was set after its end") }
    }

    func setContentType(_ type: String?) {
        if let type, let allowed = ask.allowedContentTypes, !allowed.contains(type) {
            // The real class raises an exception here.
            return note(.c18, "content type \(type) is none of \(allowed)")
        }
        setInformation { $0.contentType = type }
    }

    func respond(with data: Foundation.Data) {
        checkThread("respond(with:)")
        guard ask.data != nil, !data.isEmpty else { return }
        let (breaches, taken) = state.withLock { $0.respond(data.count, ask: ask, number: number) }
        for (rule, words) in breaches { note(rule, words) }
        guard let taken else { return }
        world.journal.keep(data, of: self)
        send(.data(taken.count < data.count ? data.prefix(taken.count) : data, at: taken.offset))
    }

    func finish() {
        checkThread("finishLoading()")
        let (breaches, event) = state.withLock { $0.finish(ask: ask, number: number) }
        end(breaches, event)
    }

    func finish(failing error: (any Error)?) {
        checkThread("finishLoading(with:)")
        let cause = error.map { $0 as NSError }
        let (breaches, event) = state.withLock { $0.fail(cause ?? AVError.nsError(.unknown), number: number) }
        end(breaches, event)
    }

    private func end(_ breaches: [Breach], _ event: LoadingEvent?) {
        for (rule, words) in breaches { note(rule, words) }
        if let event { send(event) }
    }

    private func send(_ event: LoadingEvent) {
        let events = events
        mailbox.post { events(event) }
    }

    private func note(_ rule: ContractRule, _ words: String) {
        world.journal.note(rule, words)
    }

    /// Records a breach on the main thread, except in a simulation, where all threads are one.
    private func checkThread(_ call: String) {
        guard !world.isSimulated, Thread.isMainThread else { return }
        note(.r10, "\(call) of request \(number) on the main thread")
    }
}

fileprivate typealias Breach = (ContractRule, String)

extension LoadingTransaction.State {
    /// Returns the bytes of `count` to deliver, and the breaches.
    fileprivate mutating func respond(_ count: Int, ask: LoadingAsk, number: Int) -> ([Breach], (offset: Int64, count: Int)?) {
        guard let data = ask.data else { return ([], nil) }
        switch phase {
        case .finished: return ([(.c8, "data for request \(number) after it was finished")], nil)
        case .cancelled: return ([(.c9, "data for request \(number) after it was cancelled")], nil)
        case .abandoned: return ([(.c9, "data for request \(number) after the system gave it up")], nil)
        case .cancelling: return ([], nil)
        case .open: break
        }
        var breaches: [Breach] = []
        if ask.wantsInformation, !information.isTouched {
            breaches.append((.l11, "data for request \(number) before its content information"))
        }
        if redirect != nil { breaches.append((.h1, "data for request \(number), which is redirected")) }
        let end = data.end(total: knownLength) ?? .max
        let taken = Int(min(Int64(count), max(0, end - currentOffset)))
        if taken < count {
            breaches.append((.r3, "\(count) bytes at \(currentOffset) for request \(number), which ends at \(end)"))
        }
        let offset = currentOffset
        currentOffset += Int64(taken)
        return (breaches, taken > 0 ? (offset, taken) : nil)
    }

    fileprivate mutating func finish(ask: LoadingAsk, number: Int) -> ([Breach], LoadingEvent?) {
        if let late = lateBreach(number) { return ([late], nil) }
        guard phase == .open else { return ([], nil) }
        phase = .finished
        if let redirect { return finish(redirect, number: number) }
        if let breach = informationBreach(ask, number: number) {
            return ([breach], .failed(AVError.nsError(breach.0 == .c16 ? .fileFailedToParse : .fileFormatNotRecognized)))
        }
        return (shortBreach(ask, number: number), .finished(ask.wantsInformation ? information : nil))
    }

    fileprivate mutating func fail(_ error: NSError, number: Int) -> ([Breach], LoadingEvent?) {
        if let late = lateBreach(number) { return ([late], nil) }
        guard phase == .open else { return ([], nil) }
        phase = .finished
        return ([], .failed(error))
    }

    private func lateBreach(_ number: Int) -> Breach? {
        switch phase {
        case .finished: (.c8, "request \(number) was sent to finish although it was already finished; ignored")
        case .cancelled: (.c9, "request \(number) was finished after it was cancelled")
        case .abandoned: (.c9, "request \(number) was finished after the system gave it up")
        case .open, .cancelling: nil
        }
    }

    private func finish(_ redirect: URLRequest, number: Int) -> ([Breach], LoadingEvent?) {
        var breaches: [Breach] = []
        let scheme = redirect.url?.scheme?.lowercased()
        if scheme != "http", scheme != "https" { breaches.append((.h1, "request \(number) is redirected to \(scheme ?? "nothing")")) }
        if (response as? HTTPURLResponse)?.statusCode != 302 {
            breaches.append((.h1, "the redirect of request \(number) has no 302 response"))
        }
        if information.isTouched { breaches.append((.h1, "request \(number) is redirected after content information was given")) }
        return (breaches, breaches.isEmpty ? .redirected(redirect) : .failed(AVError.nsError(.unknown)))
    }

    /// Returns the breach in the content information, if it was requested.
    private func informationBreach(_ ask: LoadingAsk, number: Int) -> Breach? {
        guard ask.wantsInformation else { return nil }
        guard information.isTouched else { return (.l11, "request \(number) was finished without content information") }
        if information.contentLength <= 0 { return (.c16, "content length \(information.contentLength)") }
        guard let type = information.contentType else { return ask.allowedContentTypes == nil ? (.c17, "no content type") : nil }
        if type.isEmpty { return (.c17, "an empty content type") }
        if type.contains("/") { return (.i6, "content type \(type) is no type identifier") }
        return nil
    }

    /// Returns a breach for an early finish, which would end the resource for the system.
    private func shortBreach(_ ask: LoadingAsk, number: Int) -> [Breach] {
        guard let data = ask.data, let end = data.end(total: knownLength), currentOffset < end else { return [] }
        // The first probe may be finished without its data, as many delegates do (L12).
        if ask.wantsInformation, currentOffset == data.offset { return [] }
        return [(.r5, "request \(number) was finished at \(currentOffset), before \(end)")]
    }
}
