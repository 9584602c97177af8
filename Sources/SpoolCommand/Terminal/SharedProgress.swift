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

    var add: @Sendable (Int64) -> Void {
        { [line] bytes in
            // Drawn outside the lock: a terminal may be slow.
            let drawn = line.withLock { $0.lineAfter(bytes, fromStore: bytes) }
            if let drawn { ProgressLine.draw(drawn, on: .error) }
        }
    }

    /// Leaves a last line that says what came of it.
    func finish() { line.withLock { $0 }.finish() }

    func clear() { line.withLock { $0 }.clear() }
}
