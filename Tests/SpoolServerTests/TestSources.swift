import SpoolServer
import SpoolSystem
import Testing

/// Bytes in memory, returned in the given pieces.
final class MemorySource: BodySource {
    private var pieces: [[UInt8]]
    private let ending: BodyChunk
    private(set) var closeCount = 0
    private let onClose: @Sendable () -> Void

    init(_ pieces: [[UInt8]], ending: BodyChunk = .end, onClose: @escaping @Sendable () -> Void = {}) {
        self.pieces = pieces
        self.ending = ending
        self.onClose = onClose
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) {}

    func next(max: Int) -> BodyChunk {
        guard let piece = pieces.first else { return ending }
        return .memory(OwnedBytes(copying: Array(piece.prefix(max))))
    }

    func consumed(_ count: Int) {
        guard count > 0 else { return }
        pieces[0].removeFirst(count)
        if pieces[0].isEmpty { pieces.removeFirst() }
    }

    func close() {
        closeCount += 1
        precondition(closeCount == 1, "a source is closed once")
        onClose()
    }
}

/// A range of a file.
final class FileSource: BodySource {
    private let file: TestFile
    private var offset: Int64
    private let end: Int64
    private var isClosed = false
    private let onClose: @Sendable () -> Void

    init(_ file: TestFile, _ range: Range<Int64>, onClose: @escaping @Sendable () -> Void = {}) {
        self.file = file
        offset = range.lowerBound
        end = range.upperBound
        self.onClose = onClose
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) {}

    func next(max: Int) -> BodyChunk {
        guard offset < end else { return .end }
        return .file(descriptor: file.descriptor, offset: offset, count: Int(min(Int64(max), end - offset)), keepAlive: file)
    }

    func consumed(_ count: Int) { offset += Int64(count) }

    func close() {
        precondition(!isClosed, "a source is closed once")
        isClosed = true
        onClose()
    }
}

/// Bytes that other threads push, each push with a wake-up.
final class PushSource: BodySource, @unchecked Sendable {
    // Safe to share: `state` is behind its lock. The rest is set up before the source is shared, or
    // used on the loop.
    private struct State {
        var bytes: [UInt8] = []
        var ending: Ending?
        var wake: (@Sendable () -> Void)?
    }

    enum Ending: Sendable {
        case end
        case abort(String)
    }

    private let state = Locked(State())
    private var held: [UInt8] = []
    private let closes = Locked(0)
    private let onClose: @Sendable () -> Void

    init(onClose: @escaping @Sendable () -> Void = {}) {
        self.onClose = onClose
    }

    var closeCount: Int { closes.withLock { $0 } }

    func push(_ bytes: [UInt8], then ending: Ending? = nil) {
        let wake = state.withLock { state in
            state.bytes += bytes
            if let ending { state.ending = ending }
            return state.wake
        }
        wake?()
    }

    /// Wakes the loop without new bytes.
    func nudge() {
        state.withLock { $0.wake }?()
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
    }

    func next(max: Int) -> BodyChunk {
        let (bytes, ending) = state.withLock { (Array($0.bytes.prefix(max)), $0.ending) }
        if !bytes.isEmpty { return .memory(OwnedBytes(copying: bytes)) }
        switch ending {
        case nil: return .wait
        case .end: return .end
        case .abort(let reason): return .abort(reason)
        }
    }

    func consumed(_ count: Int) {
        state.withLock { $0.bytes.removeFirst(count) }
    }

    func close() {
        let count = closes.withLock { closes in
            closes += 1
            return closes
        }
        precondition(count == 1, "a source is closed once")
        onClose()
    }
}
