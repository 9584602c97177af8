import Spool
import SpoolCore
import SpoolSystem

/// Collects the bytes of a resource in memory, up to a bound. Belongs to the loop's thread.
final class ManifestBytes {
    /// The outcome of a call.
    enum Step {
        /// More bytes are on their way.
        case wait
        /// `bytes` has all bytes.
        case complete
        /// The resource has more bytes than the bound.
        case tooLong
        case failed(CacheError)
    }

    private(set) var bytes: [UInt8] = []
    private let limit: Int
    private var reading: LaneReading?
    private let wake: @Sendable () -> Void

    /// Creates a collection.
    ///
    /// - Parameter wake: Called, on any thread, when a `.wait` is over.
    init(limit: Int, wake: @escaping @Sendable () -> Void) {
        self.limit = limit
        self.wake = wake
    }

    /// Takes the bytes that `reader` has now.
    func take(from reader: SessionReader) -> Step {
        while true {
            if bytes.count > limit { return .tooLong }
            if let step = takeFromLane(reader) {
                guard case .complete = step else { return step }
                continue
            }
            switch reader.next(max: LaneReading.readBytes) {
            case .file(let file, let range):
                let reading = self.reading ?? LaneReading()
                self.reading = reading
                if !reading.readAtOnce(range, of: file) { reading.begin(range, of: file, on: reader.readingLane, done: wake) }
            case .memory(let memory):
                memory.withBytes { bytes += $0 }
                reader.advance(by: memory.count, fromOrigin: true)
            case .wait: return .wait
            case .end: return .complete
            case .failed(let error): return .failed(error)
            }
        }
    }

    /// Takes the bytes that a lane has read.
    ///
    /// - Returns: Nil when no read is open, `.complete` when one was taken.
    private func takeFromLane(_ reader: SessionReader) -> Step? {
        guard let reading else { return nil }
        switch reading.state {
        case .idle: return nil
        case .underWay: return .wait
        case .ready(let memory):
            memory.withBytes { bytes += $0 }
            let count = memory.count
            reading.consumed(count)
            reader.advance(by: count, fromOrigin: false)
        case .failed(let range, let error):
            reading.reset()
            reader.reportLost(range, error ?? .corrupt(reader.key, range))
        }
        return .complete
    }
}
