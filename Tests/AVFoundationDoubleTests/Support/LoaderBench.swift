import AVFoundation
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// A loader with a delegate in a simulated world.
final class LoaderBench {
    static let url = URL(string: "spool-https://origin.test/song.mp3")!

    let simulator = Simulator(seed: 1)
    let world: PlaybackWorld
    let delegate = TinyDelegate()
    var asset = AVURLAsset(url: url)
    let mailbox: any Mailbox
    private let events = Locked<[String]>([])

    init() {
        world = PlaybackWorld(
            time: simulator, random: simulator, main: simulator.mailbox("main"), mailbox: { [simulator] in simulator.mailbox($0) })
        mailbox = simulator.mailbox("player")
        asset.resourceLoader.setDelegate(delegate, queue: nil)
    }

    @discardableResult
    func begin(_ ask: LoadingAsk) -> LoadingTransaction {
        asset.resourceLoader.begin(ask, world: world, on: mailbox) { [events] event in
            events.withLock { $0.append(Self.words(event)) }
        }
    }

    /// Runs until no job is left.
    ///
    /// - Returns: The events of the requests since the last run.
    func run() -> [String] {
        simulator.runUntilIdle()
        return events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    var journal: [String] { world.journal.breaches.map(\.description) }

    private static func words(_ event: LoadingEvent) -> String {
        switch event {
        case .accepted: "accepted"
        case .refused: "refused"
        case .unanswered: "unanswered"
        case .data(let data, let offset): "data \(data.count) at \(offset)"
        case .finished(let information): "finished" + (information.map { " \($0.contentLength) \($0.contentType ?? "-")" } ?? "")
        case .redirected(let request): "redirected to \(request)"
        case .failed(let error): "failed \(error.code)"
        case .cancelled: "cancelled"
        }
    }
}

/// Answers each request at once with zeros, or keeps it.
final class TinyDelegate: NSObject, AVAssetResourceLoaderDelegate {
    var isSilent = false
    var sendsData = true
    private(set) var waiting: [AVAssetResourceLoadingRequest] = []
    private(set) var cancelled: [AVAssetResourceLoadingRequest] = []
    /// The names of the other callbacks that were called.
    private(set) var calls: [String] = []

    func letGo() {
        for request in waiting { request.finishLoading(with: nil) }
        waiting = []
    }

    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool {
        if isSilent {
            waiting.append(loadingRequest)
        } else {
            answer(loadingRequest)
        }
        return true
    }

    func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel loadingRequest: AVAssetResourceLoadingRequest) {
        cancelled.append(loadingRequest)
    }

    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForRenewalOfRequestedResource renewalRequest: AVAssetResourceRenewalRequest
    ) -> Bool {
        calls.append("renewal")
        answer(renewalRequest)
        return true
    }

    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForResponseTo authenticationChallenge: URLAuthenticationChallenge
    ) -> Bool {
        calls.append("challenge")
        return true
    }

    func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel authenticationChallenge: URLAuthenticationChallenge) {
        calls.append("challenge cancelled")
    }

    private func answer(_ request: AVAssetResourceLoadingRequest) {
        if let information = request.contentInformationRequest {
            information.contentType = AVFileType.mp3.rawValue
            information.contentLength = 100_000
            information.isByteRangeAccessSupported = true
        }
        if sendsData, let data = request.dataRequest { data.respond(with: Data(count: data.requestedLength)) }
        request.finishLoading()
    }
}
