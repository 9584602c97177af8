#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolStore
import SpoolSystem

// Reading for requests, piece by piece.

extension LoaderCore {
    /// The reader of one feed.
    struct FeedReader {
        let reader: SessionReader
        /// The version that it reads is the one that the player was told of.
        var isChecked = false
        /// A timer is set that looks again.
        var rests = false
    }

    func open(_ feed: LoadingFeedID, start: Int64, end: Int64) {
        do {
            let reader = try cache.sessionReader(
                for: source.originalURL.absoluteString, key: source.key, start: start, end: end, wantsBytes: true, options: readOptions,
                wake: wake { $0.pump(feed) })
            readers[feed] = FeedReader(reader: reader)
            pumpLater(feed)
        } catch {
            perform(machine.failed(feed, LoadingFailure(error), now: now))
        }
    }

    /// Lets the reader go. What it began lingers for a moment: a player that cancels mostly comes back. When the asset is gone it does not.
    func close(_ feed: LoadingFeedID) {
        readers.removeValue(forKey: feed)?.reader.leave(explicitly: isEnded)
    }

    private func pumpLater(_ feed: LoadingFeedID) {
        mailbox.post { [weak self] in self?.pump(feed) }
    }

    /// Hands over one piece if there is one and it is due; more in another job, so that cancels get in between.
    func pump(_ feed: LoadingFeedID) {
        guard let open = readers[feed], !open.rests else { return }
        guard open.isChecked || check(feed, open.reader) else { return }
        machine.prioritized(currentPriority)
        switch machine.turn(of: feed, now: now) {
        case .over: break
        case .rest(let until): rest(feed, until: until)
        case .read(let max): read(feed, open.reader, max)
        }
    }

    /// A later item of a queue steps back while the one that plays waits.
    private var currentPriority: LoadingPriority {
        wantedPriority == .upcoming && door.isAnyoneHungry ? .yielding : wantedPriority
    }

    /// Whether the reader has the version that the player was told of.
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
        readers[feed]?.rests = true
        _ = cache.environment.time.after(max(0, until - now), on: mailbox) { [weak self] in
            self?.readers[feed]?.rests = false
            self?.pump(feed)
        }
    }

    private func read(_ feed: LoadingFeedID, _ reader: SessionReader, _ max: Int) {
        switch piece(of: reader, max: max) {
        case nil, .wait: isHungry(true)
        case .end:
            log.trace("feed \(feed.rawValue) ends early")
            perform(machine.ended(feed, now: now))
        case .failed(let error): failed(feed, error)
        case .bytes(let data):
            isHungry(false)
            hand(data, to: machine.requests(of: feed))
            noteDelivered(data.count, of: feed)
            perform(machine.delivered(feed, count: data.count, now: now))
            if readers[feed] != nil { pumpLater(feed) }
        }
    }

    private func noteDelivered(_ count: Int, of feed: LoadingFeedID) {
        guard let position = machine.feeds.first(where: { $0.id == feed })?.position else { return }
        if let range = ByteRange(position, position + Int64(count)) { report.delivered(range) }
    }

    private func hand(_ data: Data, to ids: [LoadingRequestID]) {
        for id in ids {
            guard let request = requests[id], !request.isCancelled, !request.isFinished else { continue }
            request.dataRequest?.respond(with: data)
        }
    }

    private func failed(_ feed: LoadingFeedID, _ error: CacheError) {
        // Known also where another try may mend it: the app sees why nothing comes.
        if !isEnded { report.note(error) }
        perform(machine.failed(feed, LoadingFailure(error), now: now))
    }

    private func isHungry(_ isHungry: Bool) {
        if wantedPriority == .playing { door.note(self, isHungry: isHungry) }
    }

    // MARK: Bytes

    /// What a reader gave.
    enum Piece {
        case bytes(Data)
        case wait
        case end
        case failed(CacheError)
    }

    /// Chunks that are put into one piece at most: what comes from the network comes in small ones.
    private static var maxChunks: Int { 64 }
    /// Stored bytes that turn out to be unreadable, one after the other, before it is left for later.
    private static var maxLost: Int { 8 }

    /// Up to `max` bytes that are there now, copied: what the player keeps never changes. Nil where damaged bytes have to be fetched first.
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
            case .memory(let memory, let keepAlive):
                withExtendedLifetime(keepAlive) { data.append(contentsOf: memory) }
                reader.advance(by: memory.count, fromOrigin: true)
            case .wait: return data.isEmpty ? .wait : .bytes(data)
            case .end: return data.isEmpty ? .end : .bytes(data)
            case .failed(let error): return data.isEmpty ? .failed(error) : .bytes(data)
            }
        }
        return data.isEmpty ? .wait : .bytes(data)
    }

    /// Appends stored bytes; false when they are gone: then they are a gap, and the next look fetches them.
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
