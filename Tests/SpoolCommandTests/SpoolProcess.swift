import Foundation
import Testing

/// The built program as a process, so tests run the same program as a user.
final class SpoolProcess {
    private let process = Process()
    private let output = Pipe()
    private let errors: URL
    private let terminal: PseudoTerminal?

    /// The result of a run.
    struct Outcome {
        var code: Int32
        var output: Data
        var errors: String

        var text: String { String(decoding: output, as: UTF8.self) }
        var json: Any? { try? JSONSerialization.jsonObject(with: output) }
    }

    /// The program, which lies beside the test bundle.
    static let executable: URL? = {
        var directory = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        // On Apple systems the bundle's executable lies three directories deeper.
        for _ in 0..<5 {
            let candidate = directory.appendingPathComponent("spool")
            var isDirectory: ObjCBool = false
            let exists = FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isDirectory)
            if exists && !isDirectory.boolValue { return candidate }
            directory.deleteLastPathComponent()
        }
        return nil
    }()

    var processID: Int32 { process.processIdentifier }

    /// Starts the program.
    ///
    /// - Parameters:
    ///   - environment: Variables added to a bare environment, so that the tester's own settings
    ///     have no effect.
    ///   - descriptors: The most descriptors that the program may have open, or nil for those of
    ///     the tests.
    ///   - terminal: A terminal in the place of standard error, or nil for none.
    init(
        _ arguments: [String], environment: [String: String] = [:], descriptors: Int? = nil, terminal: PseudoTerminal? = nil,
        in directory: ScratchDirectory
    ) throws {
        self.terminal = terminal
        errors = directory.url.appendingPathComponent("stderr-" + UUID().uuidString)
        try Data().write(to: errors)
        let executable: URL = try #require(Self.executable, "the program is built beside the tests: 'swift build --product spool'")
        if let descriptors {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", "ulimit -n \(descriptors); exec \"$0\" \"$@\"", executable.path] + arguments
        } else {
            process.executableURL = executable
            process.arguments = arguments
        }
        process.environment = ["HOME": directory.url.path, "LANG": "C.UTF-8"].merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = try terminal?.program ?? FileHandle(forWritingTo: errors)
        try process.run()
    }

    /// Runs the program to its end and returns the outcome.
    static func run(_ arguments: [String], environment: [String: String] = [:], in directory: ScratchDirectory) throws -> Outcome {
        try SpoolProcess(arguments, environment: environment, in: directory).end()
    }

    /// Returns the next line of standard output, or nil at its end.
    func readLine() -> String? {
        var bytes = Data()
        while let byte = try? output.fileHandleForReading.read(upToCount: 1), let byte = byte.first {
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }

    /// Stops reading standard output.
    func closeOutput() throws {
        try output.fileHandleForReading.close()
    }

    var identifier: Int32 { process.processIdentifier }

    func send(_ signal: Int32) {
        kill(identifier, signal)
    }

    /// Waits for the end of the process and returns the outcome.
    func end() throws -> Outcome {
        let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        let errors = try terminal?.contents() ?? String(contentsOf: errors, encoding: .utf8)
        return Outcome(code: process.terminationStatus, output: data, errors: errors)
    }
}

/// A directory for one test, removed when the test releases it.
final class ScratchDirectory {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("spool-command-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        do { try FileManager.default.removeItem(at: url) } catch { Issue.record(error) }
    }

    /// The path of a name in this directory.
    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// Inverts one byte of the store's only data file, as a failing disk does.
    func changeStoredByte(at offset: UInt64) throws {
        let root = URL(fileURLWithPath: path("store/data"))
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        let file = try FileHandle(forUpdating: try #require(files.first { $0.pathExtension == "mp3" }))
        try file.seek(toOffset: offset)
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data([~byte]))
        try file.close()
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).filter { !$0.hasPrefix("stderr-") }.sorted() }
    }
}
