import Spool
import SpoolCore
import SpoolServer
import SpoolStore

/// The bytes of one range of a resource as a response body: stored ones by `sendfile`, others as they come from the origin.
///
/// What has no descriptor to send from (it is encrypted, changed on the way, or in memory) is read by `LaneReading`: encrypted blocks that are
/// in the page cache at once, as opening a turn's bytes takes about as long again as sending them and the way to a lane and back took more; all
/// else on a lane, so that the event loop waits for no disk and changes nothing.
final class SessionBodySource: BodySource {
    private let reader: SessionReader
    private let relay: WakeRelay
    private var isMemory = false
    let beginsInMemory: Bool
    /// What a lane reads or has read for this source, once there was need of it.
    private var reading: LaneReading?
    /// The next stored bytes are read on a lane although the file has a descriptor: sending from it failed, and the read tells why.
    private var mustRead: Bool
    /// The file of the last chunk that is sent from its descriptor.
    private var sending: (any StoredBytes)?

    /// - Parameters:
    ///   - relay: what the reader wakes; it was given to it as its wake-up.
    ///   - beginsInMemory: whether the reader's first bytes were seen to be a fetch's.
    ///   - mustRead: whether sending the reader's first bytes from their file failed.
    init(reader: SessionReader, relay: WakeRelay, beginsInMemory: Bool = false, mustRead: Bool = false) {
        self.mustRead = mustRead
        self.reader = reader
        self.beginsInMemory = beginsInMemory
        self.relay = relay
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) { relay.set(wake) }

    func next(max: Int) -> BodyChunk {
        // A turn more for each range that turns out to be unreadable and becomes a gap.
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
                    // Only what is read now is lost if it can't be: what lies behind may be sound.
                    let end = min(range.upperBound, range.lowerBound + Int64(LaneReading.readBytes))
                    let part = ByteRange(lower: range.lowerBound, upper: end)
                    reading.begin(part, of: file, on: reader.readingLane) { [relay] in relay.wake() }
                    continue
                }
                if reading.readAtOnce(range, of: file) { continue }
                reading.begin(range, of: file, on: reader.readingLane) { [relay] in relay.wake() }
            case .memory(let bytes, let keepAlive):
                isMemory = true
                return .memory(bytes, keepAlive: keepAlive)
            case .wait: return .wait
            case .end: return .end
            case .failed(let error): return .abort(error.message)
            }
        }
    }

    /// What the lane has read and was not sent yet; nil when the reader is to be asked.
    private func chunkOfReading(max: Int) -> BodyChunk? {
        guard let reading else { return nil }
        switch reading.state {
        case .idle: return nil
        case .underWay: return .wait
        case .ready(let bytes):
            isMemory = false
            return .memory(UnsafeRawBufferPointer(rebasing: bytes.prefix(max)), keepAlive: reading)
        case .failed(let range, let error):
            reading.reset()
            reader.reportLost(range, error ?? .corrupt(reader.key, range))
            return nil
        }
    }

    /// Not while the store is suspended, and not after another process may have changed the file.
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
