import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// A player with a buffer, which plays at the rate of its media and seeks now and then. It measures
/// what its user notices.
final class LinkPlayer: @unchecked Sendable {
    // Safe to share: all jobs of the simulator run on one thread.

    struct Measures {
        var playedBytes: Int64 = 0
        /// The time from the start to the end of the play.
        var elapsed: Nanoseconds = 0
        /// The time from each start and seek to its first byte, all together.
        var waits: Nanoseconds = 0
        /// The time without a picture.
        var stalls: Nanoseconds = 0
    }

    /// A part of the film that is played in a row.
    struct Part {
        var start: Int64
        var bytes: Int64
    }

    private static let tick: Nanoseconds = .milliseconds(1)
    /// The player reads ahead this many seconds, and starts to play with this many of them.
    private static let seconds = (full: 3.0, start: 0.5)

    private let cache: MediaCache
    private let simulator: Simulator
    private let mailbox: any Mailbox
    private let url: String
    private let bytesPerSecond: Int64
    private var parts: ArraySlice<Part>
    private var reader: SessionReader?
    private var buffered: Int64 = 0
    private var left: Int64 = 0
    private var isPlaying = false
    private var asked: MonotonicInstant?
    private var began: MonotonicInstant?
    private(set) var measures = Measures()
    private(set) var isOver = false

    init(_ cache: MediaCache, _ simulator: Simulator, url: String, bytesPerSecond: Int64, parts: [Part]) {
        (self.cache, self.simulator, self.url, self.bytesPerSecond) = (cache, simulator, url, bytesPerSecond)
        self.parts = parts[...]
        mailbox = simulator.mailbox("player")
    }

    func start() {
        began = simulator.now
        seek()
        tick()
    }

    private func seek() {
        guard let part = parts.popFirst() else {
            reader?.leave(explicitly: true)
            reader = nil
            isOver = true
            measures.elapsed = simulator.now - (began ?? simulator.now)
            return
        }
        reader?.leave(explicitly: true)
        (buffered, left, isPlaying, asked) = (0, part.bytes, false, simulator.now)
        reader = try? cache.sessionReader(
            for: url, start: part.start, end: nil, wantsBytes: true, wake: { [self] in mailbox.post { self.read() } })
        read()
    }

    private func read() {
        while let reader, buffered < Int64(Self.seconds.full * Double(bytesPerSecond)) {
            switch reader.next(max: 256 << 10) {
            case .file(_, let range): take(Int(range.count), reader, fromOrigin: false)
            case .memory(let bytes): take(bytes.count, reader, fromOrigin: true)
            case .wait, .end, .failed: return
            }
        }
    }

    private func take(_ count: Int, _ reader: SessionReader, fromOrigin: Bool) {
        if let asked { measures.waits += simulator.now - asked }
        asked = nil
        buffered += Int64(count)
        reader.advance(by: count, fromOrigin: fromOrigin)
    }

    private func tick() {
        guard !isOver else { return }
        if buffered >= min(left, Int64(Self.seconds.start * Double(bytesPerSecond))) { isPlaying = true }
        let step = min(left, bytesPerSecond * Self.tick / 1_000_000_000)
        if isPlaying, buffered >= step {
            buffered -= step
            left -= step
            measures.playedBytes += step
            if left == 0 { seek() } else { read() }
        } else {
            isPlaying = false
            measures.stalls += Self.tick
        }
        _ = simulator.after(Self.tick, on: mailbox) { [self] in tick() }
    }
}
