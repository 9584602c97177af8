import SpoolCore
import SpoolServer
import SpoolSystem

/// A range of a demo file, generated while it is sent and no faster than a slow line would deliver
/// it.
///
/// Belongs to the server's loop.
final class PacedBody: BodySource {
    private let file: DemoFile
    private let loop: EventLoop
    /// The rate, or nil for no limit.
    private let bytesPerSecond: Int64?
    private let start: Int64
    private let end: Int64
    private let began: MonotonicInstant
    private var position: Int64
    private var chunk: Chunk?
    private var timer: LoopTimer?
    private var wake: (@Sendable () -> Void)?

    /// The number of bytes that are generated at once.
    private static let chunkBytes: Int64 = 32 << 10
    /// The bytes that are sent before the line becomes slow: enough for a player to detect the
    /// format.
    private static let headStartBytes: Int64 = 128 << 10
    /// The interval at which a waiting body checks again.
    private static let tick: Nanoseconds = .milliseconds(20)

    init(_ file: DemoFile, _ range: ByteRange, bytesPerSecond: Int64?, loop: EventLoop) {
        self.file = file
        self.loop = loop
        self.bytesPerSecond = bytesPerSecond
        start = range.lowerBound
        end = range.upperBound
        position = start
        began = EventLoop.monotonicNow()
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    func next(max: Int) -> BodyChunk {
        guard position < end else { return .end }
        guard let chunk = chunk ?? makeChunk() else {
            waitForTick()
            return .wait
        }
        self.chunk = chunk
        return .memory(UnsafeRawBufferPointer(rebasing: chunk.rest.prefix(max)), keepAlive: chunk)
    }

    func consumed(_ count: Int) {
        guard let chunk else { return }
        position += Int64(count)
        chunk.used += count
        if chunk.rest.isEmpty { self.chunk = nil }
    }

    func close() {
        if let timer { loop.cancel(timer) }
        timer = nil
        wake = nil
        chunk = nil
    }

    /// Returns the next bytes, or nil while the line would not have delivered a chunk yet.
    private func makeChunk() -> Chunk? {
        let count = min(Self.chunkBytes, end - position)
        guard count <= allowance else { return nil }
        let chunk = Chunk(count: Int(count))
        file.read(into: chunk.buffer, at: position)
        return chunk
    }

    private var allowance: Int64 {
        guard let bytesPerSecond else { return .max }
        let elapsed = Double(EventLoop.monotonicNow() - began) / 1e9
        return Self.headStartBytes + Int64(saturating: elapsed * Double(bytesPerSecond)) - (position - start)
    }

    private func waitForTick() {
        guard timer == nil else { return }
        timer = loop.after(Self.tick) { [weak self] in
            self?.timer = nil
            self?.wake?()
        }
    }

    /// Bytes of the file with their memory.
    private final class Chunk {
        let buffer: UnsafeMutableRawBufferPointer
        var used = 0

        init(count: Int) {
            buffer = .allocate(byteCount: count, alignment: 16)
        }

        deinit {
            buffer.deallocate()
        }

        var rest: Slice<UnsafeRawBufferPointer> { UnsafeRawBufferPointer(buffer)[used...] }
    }
}
