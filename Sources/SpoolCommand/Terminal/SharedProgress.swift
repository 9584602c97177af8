import SpoolCore
import SpoolSystem

/// The progress line, which a thread of the cache draws.
final class SharedProgress: Sendable {
    private let line: Locked<ProgressLine>

    init(name: String, total: Int64?) {
        var line = ProgressLine(name: name, stream: .error, time: SystemTime())
        line.total = total
        line.showsStore = false
        self.line = Locked(line)
    }

    /// So many bytes more are done.
    var add: @Sendable (Int64) -> Void {
        { [line] bytes in
            // Drawn outside the lock: a terminal may be slow.
            let drawn = line.withLock { $0.lineAfter(bytes, fromStore: bytes) }
            if let drawn { ProgressLine.draw(drawn, on: .error) }
        }
    }

    /// Leaves a last line that says what came of it.
    func finish() { line.withLock { $0 }.finish() }

    /// So many bytes of so many are done.
    func set(_ done: Int64, of total: Int64) {
        let new = line.withLock { line in
            line.total = total
            return done - line.received
        }
        add(new)
    }

    func clear() { line.withLock { $0 }.clear() }
}
