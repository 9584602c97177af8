import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Standard output or standard error, written to without a buffer: whoever has much to write gathers it first.
struct OutputStream: Sendable {
    let descriptor: Int32
    let name: String

    static let output = OutputStream(descriptor: STDOUT_FILENO, name: "standard output")
    static let error = OutputStream(descriptor: STDERR_FILENO, name: "standard error")

    /// Writes all of `text`. Control characters other than the end of a line become spaces, wherever they came from.
    /// - Throws: with `EPIPE` when the reader is gone.
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

    /// Says one line; trouble with saying it is nobody's business any more.
    func say(_ line: String) {
        do throws(SystemError) { try write(line.printable + "\n") } catch { return }
    }

    /// Whether a person is looking at it.
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

    /// The variables that hold a secret itself: no program that we start gets them.
    static let secrets = ["SPOOL_TOKEN", "SPOOL_PASSPHRASE", "SPOOL_NEW_PASSPHRASE"]

    /// Whether the terminal understands characters beyond ASCII.
    static var isUnicode: Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { self[$0] }.first { !$0.isEmpty } ?? ""
        let name = locale.uppercased()
        return name.contains("UTF-8") || name.contains("UTF8")
    }
}
