/// Colours for a terminal, unless the user or the terminal has none.
package struct TerminalStyle: Sendable {
    enum Color: Int {
        case red = 31
        case green = 32
        case yellow = 33
        case cyan = 36
    }

    package let hasColors: Bool

    package init(hasColors: Bool) { self.hasColors = hasColors }

    /// The style of a stream. `NO_COLOR` with any value but an empty one turns colours off
    /// (https://no-color.org), as `TERM=dumb` does.
    init(_ stream: OutputStream) {
        let isRefused = Environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        hasColors = stream.isTerminal && !isRefused && Environment["TERM"] != "dumb"
    }

    func colored(_ text: String, _ color: Color) -> String {
        hasColors ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
    }

    func bold(_ text: String) -> String { hasColors ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
}
