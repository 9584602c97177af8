import Foundation
import Testing

/// The checks that scripts make: documentation, and the measures of the code.
@Suite(.timeLimit(.minutes(20)))
struct ScriptCheckTests {
    /// Plain English, doc comments at every public declaration, and comments that fit.
    @Test func `the measures of the code stay within their limits`() throws {
        try expectSuccess("scripts/measure", "--check")
    }

    @Test func `every link between pages of the repository names a file`() throws {
        try expectSuccess("Tools/docs/site.py", "links")
    }

    // The modules of this build are read, so that nothing is compiled a second time. On Apple's
    // systems they lie elsewhere, and have further declarations.
    #if os(Linux)
    @Test func `the listing of the public API is that of the code`() throws {
        try expectSuccess("scripts/api", "--check", "--built", Self.build)
    }

    @Test func `every Swift snippet of the documentation compiles`() throws {
        try expectSuccess("scripts/snippets", "--built", Self.build)
    }

    @Test func `the catalogs of the documentation have no warnings`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-docs-" + UUID().uuidString)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        try expectSuccess("scripts/docs", "--built", Self.build, "--into", directory.path)
    }

    /// The links and anchors of the site are checked, and that it loads nothing from elsewhere.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/pandoc"), "pandoc is not installed"))
    func `the site of the documentation builds, and all its links resolve`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-site-" + UUID().uuidString)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        try expectSuccess("scripts/docs", "--site", "--program", Self.build + "/spool", "--into", directory.path)
    }

    /// The directory of the build that this test belongs to.
    private static let build = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
    #endif

    /// Runs a script of the package. Its output explains a failure.
    private func expectSuccess(_ script: String, _ arguments: String...) throws {
        let process = Process()
        process.executableURL = PackageDirectory.url.appendingPathComponent(script)
        process.arguments = arguments
        process.currentDirectoryURL = PackageDirectory.url
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(script): \(text)")
    }
}
