import SpoolCore
import SpoolSystem

/// The lines that a terminal shows during transfers: one for each that is under way, and one for
/// several of them together. Nothing is drawn on anything but a terminal.
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

    private let time = SystemTime()
    private let state: Locked<State>

    /// Creates a board without lines.
    ///
    /// - Parameters:
    ///   - names: The names of the transfers, by their index.
    ///   - total: The number of bytes of the first one, or nil while it is unknown.
    init(names: [String], total: Int64? = nil) {
        let all = ProgressLine(name: "\(names.count) resources", stream: .error, time: time, showsStore: false)
        state = Locked(State(names: names, amounts: [0: (0, total)], all: all))
    }

    /// Sets the amounts of a transfer, and draws when it is due.
    func update(_ index: Int = 0, done: Int64, of total: Int64?) { change(index) { _ in (done, total) } }

    /// A closure that adds bytes to the first transfer.
    var add: @Sendable (Int64) -> Void { { [self] bytes in change(0) { ($0.done.addingSaturated(bytes), $0.total) } } }

    private func change(_ index: Int, _ amounts: ((done: Int64, total: Int64?)) -> (Int64, Int64?)) {
        draw { state in
            if state.lines[index] == nil {
                state.lines[index] = ProgressLine(name: state.names[index], stream: .error, time: time, showsStore: false)
            }
            state.amounts[index] = amounts(state.amounts[index] ?? (0, nil))
        }
    }

    /// Removes the line of a transfer that is over. Its bytes stay in the total.
    func finish(_ index: Int) { draw { $0.lines[index] = nil } }

    /// Clears all lines, so that a result can take their place.
    func clear() { Self.write(state.withLock { Self.back(over: exchange(&$0.drawn, with: 0)) }) }

    private func draw(_ change: (inout State) -> Void) {
        let text = state.withLock { state -> String in
            change(&state)
            let now = time.now
            if let shown = state.shown, now - shown < Self.interval { return "" }
            state.shown = now
            return frame(&state)
        }
        // Drawn outside the lock, because a terminal may be slow.
        Self.write(text)
    }

    private static func write(_ text: String) {
        guard !text.isEmpty, OutputStream.error.isTerminal else { return }
        do throws(SystemError) { try OutputStream.error.write(Array(text.utf8)) } catch { return }
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

extension Interruption {
    /// Runs work that a line shows, and clears the line after it.
    ///
    /// - Parameter message: The message of the error when a signal stopped the work.
    func showing<Value>(
        _ line: ProgressBoard, interrupted message: @autoclosure () -> String, _ work: () async throws -> Value
    ) async throws -> Value {
        defer { line.clear() }
        do { return try await work() } catch {
            guard let signal else { throw error }
            throw Failure(message(), .signal(signal))
        }
    }
}
