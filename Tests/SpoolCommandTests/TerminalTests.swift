import Foundation
import SpoolLibc
import SpoolTesting
import Testing

/// A terminal that a program writes to and a test reads.
final class PseudoTerminal {
    private let reader: FileHandle
    /// The end for the program.
    let program: FileHandle

    init() throws {
        reader = try #require(FileHandle(forUpdatingAtPath: "/dev/ptmx"))
        program = try #require(FileHandle(forUpdatingAtPath: try Self.unlock(reader.fileDescriptor)))
    }

    /// Makes the other end of a terminal usable, and returns its path.
    private static func unlock(_ descriptor: Int32) throws -> String {
        #if os(Linux)
        // The macros TIOCSPTLCK and TIOCGPTN, and the functions of XSI, are not visible in Swift.
        let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
        var isLocked: Int32 = 0
        var number: Int32 = 0
        try #require(ioctl(descriptor, setLock, &isLocked) == 0 && ioctl(descriptor, getNumber, &number) == 0)
        return "/dev/pts/\(number)"
        #else
        try #require(grantpt(descriptor) == 0 && unlockpt(descriptor) == 0)
        return String(cString: try #require(ptsname(descriptor)))
        #endif
    }

    /// Returns what was written until now. The terminal keeps 4 KiB, so a program that writes more
    /// would wait.
    ///
    /// The kernel hands on what was written a little later, and keeps the order. So a mark that is
    /// written last comes when all the rest has come.
    func contents() -> String {
        let mark = UInt8(0x1E)
        program.write(Data([mark]))
        var all: [UInt8] = [], buffer = [UInt8](repeating: 0, count: 65_536)
        while all.last != mark {
            let count = read(reader.fileDescriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            all += buffer.prefix(count)
        }
        return String(decoding: all.last == mark ? all.dropLast() : all[...], as: UTF8.self)
    }
}

/// The messages for a person whose standard error is a terminal.
@Suite(.timeLimit(.minutes(20)))
struct TerminalTests {
    @Test func `the progress of get names the resource and the share from the store`() throws {
        let scene = try FilmScene(["/films/a.mp4"])
        let terminal = try PseudoTerminal()
        let process = try SpoolProcess(
            ["get", scene.url("/films/a.mp4"), "-o", "-", "--cache", scene.directory.path("store")], terminal: terminal,
            in: scene.directory)
        let outcome = try process.end()
        #expect(outcome.output == FilmScene.bytes)
        #expect(outcome.errors.contains("\ra.mp4 ") && outcome.errors.contains("100 % from the store"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("standard output") && !outcome.errors.contains(" 0 B/s"), "\(outcome.errors)")
    }

    @Test(arguments: [["serve"], ["demo", "--seconds", "1"]])
    func `Ctrl-C ends the line of the prompt and reports the stop`(words: [String]) throws {
        let directory = try ScratchDirectory()
        let terminal = try PseudoTerminal()
        let process = try SpoolProcess(
            words + ["--listen", "127.0.0.1:0", "--cache", directory.path("store")], terminal: terminal, in: directory)
        #expect(process.readLine()?.hasPrefix("listening on ") == true)
        process.send(SIGINT)
        let outcome = try process.end()
        let lines = outcome.errors.split(whereSeparator: \.isNewline)
        #expect(outcome.code == 0 && lines.contains("spool: stopping; a second signal stops at once"), "\(outcome.errors)")
        #expect(lines.last?.contains("stopped") == true, "\(outcome.errors)")
    }
}
