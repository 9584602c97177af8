#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolStore
import SpoolSystem

// Delivery of bytes to requests, piece by piece.

extension LoaderCore {
    /// The reader of one feed.
    struct FeedReader {
        let reader: SessionReader
        /// Whether the reader has the version whose information the player got.
        var isChecked = false
        /// The timer that continues a feed which rests.
        var rest: SpoolSystem.Timer?
    }

    func open(_ feed: LoadingFeedID, start: Int64, end: Int64) {
        // After a renewal, feeds that still read go on.
        guard readers[feed] == nil else { return }
        do {
            let reader = try cache.sessionReader(
                for: source.presentURL.absoluteString, key: source.key, start: start, end: end, wantsBytes: true, options: readOptions,
                wake: wake { $0.pump(feed) })
            readers[feed] = FeedReader(reader: reader)
            pumpLater(feed)
        } catch {
            perform(machine.failed(feed, LoadingFailure(error), now: now))
        }
    }

    /// Releases the reader. Its fetch lingers for a moment, because a player that cancels usually
    /// comes back. When the asset is gone, the fetch ends at once.
    func close(_ feed: LoadingFeedID) {
        readers.removeValue(forKey: feed)?.reader.leave(explicitly: isEnded)
    }

    private func pumpLater(_ feed: LoadingFeedID) {
        mailbox.post { [weak self] in self?.pump(feed) }
    }

    /// Delivers one piece if it is available and due. The next piece goes in another job, so that
    /// cancels can come in between.
    func pump(_ feed: LoadingFeedID) {
        guard let open = readers[feed], open.rest == nil else { return }
        guard open.isChecked || check(feed, open.reader) else { return }
        machine.prioritized(currentPriority)
        machine.shared(amongAssets: door.use.loadingCount)
        switch machine.turn(of: feed, now: now) {
        case .over: break
        case .rest(let until): rest(feed, until: until)
        case .read(let max): read(feed, open.reader, max)
        }
    }

    /// The present urgency. A later item of a queue yields while the one that plays waits.
    private var currentPriority: LoadingPriority {
        wantedPriority == .upcoming && door.isAnyoneHungry ? .yielding : wantedPriority
    }

    /// Returns whether the reader has the version whose information the player got.
    private func check(_ feed: LoadingFeedID, _ reader: SessionReader) -> Bool {
        switch reader.prepare() {
        case .wait:
            isHungry(true)
            return false
        case .failed(let error):
            failed(feed, error)
            return false
        case .ready(let generation, let representation):
            guard let told, told.isSame(generation, representation) else {
                failed(feed, CacheError(OriginError.representationChanged, key: source.key))
                return false
            }
            reader.markTold()
            readers[feed]?.isChecked = true
            return true
        }
    }

    private func rest(_ feed: LoadingFeedID, until: MonotonicInstant) {
        readers[feed]?.rest = cache.environment.time.after(max(0, until - now), on: mailbox) { [weak self] in
            self?.readers[feed]?.rest = nil
            self?.pump(feed)
        }
    }

    private func read(_ feed: LoadingFeedID, _ reader: SessionReader, _ max: Int) {
        switch piece(of: reader, max: max) {
        case nil: pumpLater(feed)
        case .wait: isHungry(true)
        case .end:
            log.trace("feed \(feed.rawValue) ends early")
            perform(machine.ended(feed, now: now))
        case .failed(let error): failed(feed, error)
        case .bytes(let data):
            isHungry(false)
            renewal.bytesCame()
            hand(data, to: machine.requests(of: feed))
            noteDelivered(data.count, of: feed)
            perform(machine.delivered(feed, count: data.count, now: now))
            if readers[feed] != nil { pumpLater(feed) }
        }
    }

    private func noteDelivered(_ count: Int, of feed: LoadingFeedID) {
        deliveredBytes += Int64(count)
        if deliveredBytes >= Self.plentyBytes, machine.mediaBytesPerSecond == nil { report.wantsDuration() }
        guard let position = machine.feeds.first(where: { $0.id == feed })?.position else { return }
        if let range = ByteRange(position, position + Int64(count)) { report.delivered(range) }
    }

    /// The number of delivered bytes after which the rate of the media matters for the pace.
    static var plentyBytes: Int64 { 8 << 20 }

    private func hand(_ data: Data, to ids: [LoadingRequestID]) {
        for id in ids {
            guard let request = requests[id], !request.isCancelled, !request.isFinished else { continue }
            request.dataRequest?.respond(with: data)
        }
    }

    private func failed(_ feed: LoadingFeedID, _ error: CacheError) {
        // Reported also when another try may succeed, so that the app can see why no bytes come.
        if !isEnded { report.note(error) }
        let isRenewing = renewIfRefused(error)
        perform(isRenewing ? machine.postponed(feed) : machine.failed(feed, LoadingFailure(error), now: now))
    }

    private func isHungry(_ isHungry: Bool) {
        if wantedPriority == .playing { door.note(self, isHungry: isHungry) }
    }

    // MARK: Bytes

    /// The result of reading from a reader.
    enum Piece {
        case bytes(Data)
        case wait
        case end
        case failed(CacheError)
    }

    /// The largest number of chunks in one piece. Bytes from the network come in small chunks.
    private static var maxChunks: Int { 64 }
    /// The largest number of unreadable stored ranges in a row before the piece is given up for
    /// now.
    private static var maxLost: Int { 8 }

    /// Returns up to `max` bytes that are available now. They are copied, because the player's data
    /// must never change. Returns nil when stored bytes were unreadable several times in a row. The
    /// reader calls no `wake` for that, so the caller tries again by itself.
    func piece(of reader: SessionReader, max: Int) -> Piece? {
        var data = Data()
        var lost = 0
        for _ in 0..<Self.maxChunks where data.count < max {
            switch reader.next(max: max - data.count) {
            case .file(let file, let range):
                guard append(range, of: file, reader, to: &data) else {
                    lost += 1
                    if lost < Self.maxLost { continue }
                    return data.isEmpty ? nil : .bytes(data)
                }
            case .memory(let memory):
                memory.withBytes { data.append(contentsOf: $0) }
                reader.advance(by: memory.count, fromOrigin: true)
            case .wait: return data.isEmpty ? .wait : .bytes(data)
            case .end: return data.isEmpty ? .end : .bytes(data)
            case .failed(let error): return data.isEmpty ? .failed(error) : .bytes(data)
            }
        }
        return data.isEmpty ? nil : .bytes(data)
    }

    /// Appends stored bytes.
    ///
    /// - Returns: False when the bytes are unreadable. They are then a gap, and the next call
    ///   fetches them.
    private func append(_ range: ByteRange, of file: any StoredBytes, _ reader: SessionReader, to data: inout Data) -> Bool {
        let start = data.count
        data.count += Int(range.count)
        var failure: StoreError?
        let read = data.withUnsafeMutableBytes { buffer -> Int in
            do throws(StoreError) {
                return try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[start...]), at: range.lowerBound)
            } catch {
                failure = error
                return 0
            }
        }
        guard read == Int(range.count) else {
            data.count = start
            reader.reportLost(range, failure ?? .corrupt(source.key, range))
            return false
        }
        reader.advance(by: read, fromOrigin: false)
        return true
    }
}
#endif
