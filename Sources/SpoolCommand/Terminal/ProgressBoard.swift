import SpoolCore
import SpoolSystem

/// The lines that a terminal shows during several transfers: one for each that is under way, and
/// one for all of them together. Nothing is drawn on anything but a terminal.
final class ProgressBoard: Sendable {
    private struct State {
        var names: [String]
        var lines: [Int: ProgressLine] = [:]
        var amounts: [Int: (done: Int64, total: Int64?)] = [:]
        var all: ProgressLine
        /// The number of lines on the terminal.
        var drawn = 0
        var shown: MonotonicInstant?
    }

    /// The most transfers that have a line of their own at the same time.
    private static let maxLines = 16
    /// The interval of drawing.
    private static let interval: Nanoseconds = .milliseconds(100)

    private let stream: OutputStream
    private let time: any TimeSource
    private let state: Locked<State>
    private let write: @Sendable (String) -> Void

    /// Creates a board without lines.
    ///
    /// - Parameter names: The names of the transfers, by their index.
    init(names: [String], stream: OutputStream = .error, time: any TimeSource = SystemTime(), write: (@Sendable (String) -> Void)? = nil) {
        self.stream = stream
        self.time = time
        self.write =
            write ?? { text in
                guard stream.isTerminal else { return }
                do throws(SystemError) { try stream.write(Array(text.utf8)) } catch { return }
            }
        var all = ProgressLine(name: "\(names.count) resources", stream: stream, time: time)
        all.showsStore = false
        state = Locked(State(names: names, all: all))
    }

    /// Sets the amounts of a transfer, and draws when it is due.
    func update(_ index: Int, done: Int64, of total: Int64?) {
        draw { state in
            if state.lines[index] == nil {
                state.lines[index] = ProgressLine(name: state.names[index], stream: stream, time: time)
                state.lines[index]?.showsStore = false
            }
            state.amounts[index] = (done, total)
        }
    }

    /// Removes the line of a transfer that is over. Its bytes stay in the total.
    func finish(_ index: Int) { draw { $0.lines[index] = nil } }

    /// Clears all lines, so that a result can take their place.
    func clear() {
        let text = state.withLock { state in
            defer { state.drawn = 0 }
            return Self.back(over: state.drawn)
        }
        if !text.isEmpty { write(text) }
    }

    private func draw(_ change: (inout State) -> Void) {
        let text = state.withLock { state -> String? in
            change(&state)
            let now = time.now
            if let shown = state.shown, now - shown < Self.interval { return nil }
            state.shown = now
            return frame(&state)
        }
        // Drawn outside the lock, because a terminal may be slow.
        if let text { write(text) }
    }

    private func frame(_ state: inout State) -> String {
        var lines: [String] = []
        for index in state.lines.keys.sorted().prefix(Self.maxLines) {
            guard let (done, total) = state.amounts[index], let line = state.lines[index]?.text(done, of: total) else { continue }
            lines.append(line)
        }
        if state.names.count > 1 {
            let done = state.amounts.values.lazy.map(\.done).saturatedSum
            // Transfers that have not begun are as long as the others are on average.
            let total = state.amounts.values.compactMap(\.total).estimatedSum(of: state.names.count)
            lines.append(state.all.text(done, of: total.map { max($0, done) }))
        }
        defer { state.drawn = lines.count }
        return Self.back(over: state.drawn) + lines.map { $0.printable + "\u{1B}[K\n" }.joined()
    }

    /// Moves to the first of the lines that were drawn, and clears them.
    private static func back(over lines: Int) -> String { lines == 0 ? "" : "\u{1B}[\(lines)A\r\u{1B}[J" }
}
