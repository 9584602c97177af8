#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolSystem

/// Makes one report for each item of a player. Safe to use from any thread, so that a player that
/// is released still reports its last item.
package final class PlaybackReporter: Sendable {
    private struct Item {
        let id: ObjectIdentifier
        let time: any TimeSource
        let bytes: LoaderReport?
        let isBypassed: @Sendable () -> Bool
        var meter: PlaybackMeter
        var report: PlaybackReport
    }

    private struct State {
        var item: Item?
        var followers: [@Sendable (PlaybackReport) -> Void] = []
    }

    /// The most reports that wait for a slow consumer. The oldest are dropped.
    private static let mostWaiting = 64

    private let state = Locked(State())

    /// Calls `tell` with each later report, on any thread.
    package func follow(_ tell: @escaping @Sendable (PlaybackReport) -> Void) { state.withLock { $0.followers.append(tell) } }

    /// Returns a stream of each later report.
    func stream() -> AsyncStream<PlaybackReport> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.mostWaiting)) { continuation in
            follow { continuation.yield($0) }
        }
    }

    /// Takes the state of the player, and ends the report of an item that it has no more.
    @MainActor func follow(_ item: AVPlayerItem?, _ playback: PlaybackState, isWanted: Bool) {
        if item.map(ObjectIdentifier.init) != state.withLock({ $0.item?.id }) {
            finish()
            if let item { begin(item) }
        }
        state.withLock { state in
            guard var current = state.item else { return }
            current.meter.became(Self.phase(playback, isWanted: isWanted), now: current.time.now)
            if case .failed(let failure) = playback { current.report.failed(failure) }
            state.item = current
        }
    }

    private static func phase(_ state: PlaybackState, isWanted: Bool) -> PlaybackMeter.Phase {
        switch state {
        case .playing: .playing
        case .waiting, .stalled: .waiting
        case .loading: isWanted ? .waiting : .paused
        case .idle, .paused, .failed, .ended: .paused
        }
    }

    @MainActor private func begin(_ item: AVPlayerItem) {
        let asset = item.cachedAsset
        let cache = asset?.sources?.factory.cache
        let time: any TimeSource = cache?.environment.time ?? SystemTime()
        let started = Item(
            id: ObjectIdentifier(item), time: time, bytes: asset?.loader?.report,
            isBypassed: { [weak cache] in cache?.isBypassed ?? false }, meter: PlaybackMeter(now: time.now),
            report: PlaybackReport(asset?.route, group: cache?.rolloutGroup))
        state.withLock { $0.item = started }
    }

    /// Notes that the original replaces the item.
    func rescued() { state.withLock { $0.item?.report.end = .rescued } }

    /// Notes that an item played to its end. A queue may have another one already.
    func ended(_ item: ObjectIdentifier) {
        state.withLock { state in
            if state.item?.id == item { state.item?.report.end = .ended }
        }
    }

    /// Ends the report of the item.
    func finish() {
        let (last, followers) = state.withLock { ($0.item.take(), $0.followers) }
        guard var last else { return }
        last.meter.became(.paused, now: last.time.now)
        last.meter.write(to: &last.report)
        last.report.isBypassed = last.isBypassed()
        if let bytes = last.bytes?.bytes {
            (last.report.bytesFromStore, last.report.bytesFromOrigin) = (bytes.fromCache, bytes.fromOrigin)
        }
        if last.report.cacheError == nil { last.report.cacheError = last.bytes?.lastError?.code.rawValue }
        for tell in followers { tell(last.report) }
    }
}

extension PlaybackReport {
    fileprivate init(_ route: AssetRoute?, group: Rollout.Group?) {
        let (name, isRescue) =
            switch route {
            case .cache: ("cache", false)
            case .file: ("file", false)
            case .loopback: ("loopback", false)
            case .original(.rescued): ("original", true)
            case .original, nil: ("original", false)
            }
        self.init(route: name)
        (self.isRescue, self.group) = (isRescue, group)
    }

    fileprivate mutating func failed(_ failure: PlaybackFailure) {
        end = .failed
        (errorDomain, errorCode, cacheError) = (failure.error.domain, failure.error.code, failure.cause?.code.rawValue)
    }
}

extension PlaybackController {
    /// A stream of one report for each item, at its end or when the player has another one, plain
    /// items included. A slow consumer gets the newest 64.
    public var reports: AsyncStream<PlaybackReport> { reporter.stream() }
}
#endif
