import Spool
import SpoolCore
import SpoolServer
import SpoolStore
import SpoolSystem

/// The bytes of one range of a resource as a response body. Stored bytes go by `sendfile`, others
/// as they arrive from the origin.
///
/// `LaneReading` reads bytes that have no descriptor to send from, because they are encrypted,
/// transformed or in memory. Encrypted blocks in the page cache are read at once on the loop:
/// decrypting a turn's bytes takes about as long as sending them, and a round trip to a lane took
/// more. All other bytes are read on a lane, so that the event loop never waits for a disk or
/// transforms bytes.
final class SessionBodySource: BodySource {
    private let reader: SessionReader
    private let relay: WakeRelay
    private var isMemory = false
    let beginsInMemory: Bool
    /// The lane reads of this source, made at the first need.
    private var reading: LaneReading?
    /// Whether a lane reads the next stored bytes although the file has a descriptor. Sending from
    /// it failed, and the read finds the cause.
    private var mustRead: Bool
    /// The file whose descriptor the last chunk uses.
    private var sending: (any StoredBytes)?

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - relay: The relay that the reader got as its wake-up.
    ///   - beginsInMemory: Whether the reader's first bytes were found in a fetch.
    ///   - mustRead: Whether sending the reader's first bytes from their file failed.
    init(reader: SessionReader, relay: WakeRelay, beginsInMemory: Bool = false, mustRead: Bool = false) {
        self.mustRead = mustRead
        self.reader = reader
        self.beginsInMemory = beginsInMemory
        self.relay = relay
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) { relay.set(wake) }

    func next(max: Int) -> BodyChunk {
        // The loop repeats for each range that is unreadable and becomes a gap.
        while true {
            if let chunk = chunkOfReading(max: max) { return chunk }
            switch reader.next(max: max) {
            case .file(let file, let range):
                isMemory = false
                if !mustRead, let descriptor = file.descriptor {
                    sending = file
                    return .file(
                        descriptor: descriptor.number, offset: range.lowerBound, count: Int(range.count), keepAlive: descriptor.owner)
                }
                let reading = self.reading ?? LaneReading()
                self.reading = reading
                if mustRead {
                    mustRead = false
                    // A failed read loses only its own range. The bytes behind it may be sound.
                    let end = min(range.upperBound, range.lowerBound + Int64(LaneReading.readBytes))
                    let part = ByteRange(lower: range.lowerBound, upper: end)
                    reading.begin(part, of: file, on: reader.readingLane) { [relay] in relay.wake() }
                    continue
                }
                if reading.readAtOnce(range, of: file) { continue }
                reading.begin(range, of: file, on: reader.readingLane) { [relay] in relay.wake() }
            case .memory(let bytes):
                isMemory = true
                return .memory(bytes)
            case .wait: return .wait
            case .end: return .end
            case .failed(let error): return .abort(error.message)
            }
        }
    }

    /// Returns the bytes that the lane has read and that were not sent yet, or nil when the reader
    /// has to be asked.
    private func chunkOfReading(max: Int) -> BodyChunk? {
        guard let reading else { return nil }
        switch reading.state {
        case .idle: return nil
        case .underWay: return .wait
        case .ready(let bytes):
            isMemory = false
            return .memory(bytes.prefix(max))
        case .failed(let range, let error):
            reading.reset()
            reader.reportLost(range, error ?? .corrupt(reader.key, range))
            return nil
        }
    }

    /// Returns false while the store is suspended, and after another process may have changed the
    /// file.
    func maySend(_ file: AnyObject) -> Bool { sending?.descriptor != nil }

    func consumed(_ count: Int) {
        reading?.consumed(count)
        reader.advance(by: count, fromOrigin: isMemory)
    }

    func couldNotRead() -> Bool {
        mustRead = true
        return true
    }

    func close() {
        relay.clear()
        reader.leave()
    }
}
