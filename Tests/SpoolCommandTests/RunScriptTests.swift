import Foundation
import Testing

/// `scripts/run`, with a stand-in for the compiler: which command of the program it starts.
@Suite(.timeLimit(.minutes(20)))
struct RunScriptTests {
    private let directory = Result { try ScratchDirectory() }

    private static let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../scripts")

    /// Copies the script to a package of its own, where `swift build` makes nothing and the program prints its arguments.
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

    /// What the program is started with.
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

    @Test func `every command of the program can be run by the script`() throws {
        let package = try makePackage()
        let help = try SpoolProcess.run(["--help"], in: package).text
        let commands = help.components(separatedBy: "Commands:\n").last?.components(separatedBy: "\n\n").first?
            .split(separator: "\n").compactMap { line in line.hasPrefix("   ") ? nil : line.split(separator: " ").first.map(String.init) }
        #expect(try #require(commands).count > 10, "the help lists them")
        for command in try #require(commands) { #expect(try arguments(of: [command, "--flag"], in: package) == "\(command) --flag") }
    }

    @Test func `without a command the script runs the demo, with whatever flags it gets`() throws {
        let package = try makePackage()
        #expect(try arguments(of: [], in: package) == "demo")
        #expect(try arguments(of: ["--listen", "127.0.0.1:0"], in: package) == "demo --listen 127.0.0.1:0")
        #expect(try arguments(of: ["--", "--help"], in: package) == "--help")
    }
}
