import SpoolLibc
import SpoolSystem

/// Standard output or standard error, without a buffer. Callers with much output collect it first.
struct OutputStream: Sendable {
    let descriptor: Int32
    let name: String

    static let output = OutputStream(descriptor: STDOUT_FILENO, name: "standard output")
    static let error = OutputStream(descriptor: STDERR_FILENO, name: "standard error")

    /// Writes all of `text`. Control characters other than the end of a line become spaces, because
    /// text may come from origins.
    ///
    /// - Throws: `SystemError` with `EPIPE` when the reader is gone.
    func write(_ text: String) throws(SystemError) {
        let isPlain = !text.unicodeScalars.contains { $0.isControl && $0 != "\n" }
        let lines = isPlain ? text : text.split(separator: "\n", omittingEmptySubsequences: false).map(\.printable).joined(separator: "\n")
        try write(Array(lines.utf8))
    }

    /// Writes all of `bytes`.
    func write(_ bytes: [UInt8]) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            written += try systemCall("write", on: name) {
                bytes.withUnsafeBytes { writeSome(descriptor, $0[written...]) }
            }
        }
    }

    /// Writes one line, and ignores an error because there is no other place to report it.
    func say(_ line: String) {
        do throws(SystemError) { try write(line.printable + "\n") } catch { return }
    }

    /// Whether the stream is a terminal, so that a person reads it.
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// The width of the terminal in columns, `COLUMNS`, or 80.
    var columns: Int {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 { return Int(size.ws_col) }
        return Environment["COLUMNS"].flatMap { Int($0) }.map { min(max($0, 20), 1000) } ?? 80
    }
}

private func writeSome(_ descriptor: Int32, _ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
    let bytes = UnsafeRawBufferPointer(rebasing: bytes)
    return write(descriptor, bytes.baseAddress, bytes.count)
}

/// The variables that the program was started with.
enum Environment {
    static subscript(name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// The variables that contain a secret themselves. Programs started by this one do not get
    /// them.
    static let secrets = [
        "SPOOL_TOKEN", "SPOOL_PARENT", "SPOOL_PASSPHRASE", "SPOOL_NEW_PASSPHRASE", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
    ]

    /// Whether the terminal supports characters beyond ASCII.
    static var isUnicode: Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { self[$0] }.first { !$0.isEmpty } ?? ""
        let name = locale.uppercased()
        return name.contains("UTF-8") || name.contains("UTF8")
    }
}
