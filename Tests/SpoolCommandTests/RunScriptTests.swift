import Foundation
import SpoolCommand
import Testing

/// `scripts/run` with a replacement for the compiler: the command of the program that it starts.
@Suite(.timeLimit(.minutes(20)))
struct RunScriptTests {
    private let directory = Result { try ScratchDirectory() }

    private static let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../scripts")

    /// Copies the script to a scratch package, where `swift build` does nothing and the program
    /// prints its arguments.
    private func makePackage() throws -> ScratchDirectory {
        let directory = try directory.get()
        let files = FileManager.default
        try files.createDirectory(atPath: directory.path("scripts"), withIntermediateDirectories: true)
        for name in ["run", "lib.sh"] {
            try files.copyItem(at: Self.scripts.appendingPathComponent(name), to: directory.url.appendingPathComponent("scripts/\(name)"))
        }
        let programs = [
            "scripts/setup": "exit 0",
            "swift": "case \"$*\" in *--show-bin-path*) echo '\(directory.url.path)' ;; esac",
            "spool": "echo \"$*\"",
        ]
        for (name, body) in programs {
            try "#!/bin/sh\n\(body)\n".write(toFile: directory.path(name), atomically: true, encoding: .utf8)
            try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path(name))
        }
        return directory
    }

    /// The arguments that the script passes to the program.
    private func arguments(of words: [String], in package: ScratchDirectory) throws -> String {
        let process = Process(), output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["bash", package.path("scripts/run")] + words
        process.environment = ["PATH": package.url.path + ":/usr/bin:/bin"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return text.trimmingCharacters(in: .newlines)
    }

    @Test func `the run script runs every command of the program`() throws {
        let package = try makePackage()
        let commands = Program.commands.map { $0.syntax.name }
        for command in commands { #expect(try arguments(of: [command, "--flag"], in: package) == "\(command) --flag") }
    }

    @Test func `the run script without a command runs the demo with the given flags`() throws {
        let package = try makePackage()
        #expect(try arguments(of: [], in: package) == "demo")
        #expect(try arguments(of: ["--listen", "127.0.0.1:0"], in: package) == "demo --listen 127.0.0.1:0")
        #expect(try arguments(of: ["--", "--help"], in: package) == "--help")
    }
}
