import SpoolCore
import SpoolSystem

/// A progress line that a thread of the cache updates and draws.
final class SharedProgress: Sendable {
    private let line: Locked<ProgressLine>

    init(name: String, total: Int64?) {
        var line = ProgressLine(name: name, stream: .error, time: SystemTime())
        line.total = total
        line.showsStore = false
        self.line = Locked(line)
    }

    /// A closure that adds bytes.
    var add: @Sendable (Int64) -> Void {
        { [line] bytes in
            // Drawn outside the lock, because a terminal may be slow.
            let drawn = line.withLock { $0.lineAfter(bytes, fromStore: bytes) }
            if let drawn { ProgressLine.draw(drawn, on: .error) }
        }
    }

    /// Draws a last line with the result.
    func finish() { line.withLock { $0 }.finish() }

    /// Sets the number of finished bytes and the total.
    func set(_ done: Int64, of total: Int64) {
        let new = line.withLock { line in
            line.total = total
            return done.subtractingSaturated(line.received)
        }
        add(new)
    }

    func clear() { line.withLock { $0 }.clear() }
}
