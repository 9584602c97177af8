import SpoolLibc
import SpoolSystem

/// A terminal that one program draws on as a whole: the other screen of the terminal, without echo
/// and without a cursor.
///
/// `leave` restores the terminal. It may be called from any thread and more than once, because a
/// signal and the end of the program both call it.
final class FullScreen: Sendable {
    private struct State {
        var isActive = true
        /// The settings of the terminal before, or nil if its input is not a terminal.
        var settings: termios?
    }

    private let state: Locked<State>

    /// Takes over the terminal.
    init() {
        var settings = termios()
        let hasInput = tcgetattr(STDIN_FILENO, &settings) == 0
        state = Locked(State(settings: hasInput ? settings : nil))
        if hasInput {
            var raw = settings
            raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
            // Ctrl-Z would leave the terminal in this state.
            withUnsafeMutableBytes(of: &raw.c_cc) { $0[Int(VSUSP)] = Self.disabledKey }
            tcsetattr(STDIN_FILENO, TCSANOW, &raw)
        }
        Self.write("\u{1B}[?1049h\u{1B}[?25l")
    }

    #if canImport(Darwin)
    private static let disabledKey: UInt8 = 0xFF
    #else
    private static let disabledKey: UInt8 = 0
    #endif

    /// Draws the lines over the ones before, unless the terminal is restored already.
    func draw(_ lines: [String]) {
        let text = "\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J"
        state.withLock { state in
            // Written under the lock, so that nothing follows the restored screen.
            if state.isActive { Self.write(text) }
        }
    }

    /// Restores the terminal.
    func leave() {
        state.withLock { state in
            guard state.isActive else { return }
            state.isActive = false
            Self.write("\u{1B}[?25h\u{1B}[?1049l")
            if var settings = state.settings { tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) }
        }
    }

    /// The size of the terminal.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Waits for a key.
    ///
    /// - Returns: The key, or nil after `milliseconds` or when the input has ended.
    static func key(within milliseconds: Int32) -> Character? {
        var event = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&event, 1, milliseconds) > 0 else { return nil }
        var byte: UInt8 = 0
        guard read(STDIN_FILENO, &byte, 1) == 1 else {
            // At the end of the input, `poll` returns at once.
            pause(milliseconds: milliseconds)
            return nil
        }
        return Character(Unicode.Scalar(byte))
    }

    /// Blocks the calling thread.
    static func pause(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }

    private static func write(_ text: String) {
        // The terminal may be gone. Then there is nothing to restore.
        do throws(SystemError) { try OutputStream.output.write(Array(text.utf8)) } catch { return }
    }
}
