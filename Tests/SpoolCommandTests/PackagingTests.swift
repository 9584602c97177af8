#if os(Linux)
import Foundation
import SpoolLibc
import Testing

/// The files of packages, and the bill of materials, which `scripts/package` makes.
@Suite(.timeLimit(.minutes(20)))
struct PackagingTests {
    private let directory = Result { try ScratchDirectory() }
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    /// The Python of `scripts/setup test`, which has the checkers.
    private static let checkers = root.appendingPathComponent(".build/tools/bin/python3").path

    /// Runs a program in the repository, and returns its exit status and output.
    private func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws -> (status: Int32, output: Data) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = Self.root
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    private func bill() throws -> Data {
        let program = try #require(SpoolProcess.executable).path
        let made = try run(
            "/usr/bin/env", ["python3", "Tools/package/sbom.py", program, "0.1.0", "6.2"], environment: ["SOURCE_DATE_EPOCH": "1700000000"])
        #expect(made.status == 0)
        return made.output
    }

    @Test func `the bill of materials has the libraries of the program, and is the same each time`() throws {
        let bytes = try bill()
        #expect(try bill() == bytes)
        let bill = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        let components = try #require(bill["components"] as? [[String: Any]])
        let files = components.flatMap { component in
            [component["name"] as? String] + ((component["properties"] as? [[String: String]]) ?? []).map { $0["value"] }
        }.compactMap { $0 }
        for library in ["libsqlite3.so", "libcurl.so", "libcrypto.so", "libz.so", "libc.so"] {
            #expect(files.contains { $0.hasPrefix(library) }, "\(library)")
        }
        #expect(files.contains("swift-runtime"))
        let names = Set(components.compactMap { $0["bom-ref"] as? String })
        #expect(names.count == components.count)
        let edges = try #require(bill["dependencies"] as? [[String: Any]])
        for target in edges.flatMap({ ($0["dependsOn"] as? [String]) ?? [] }) { #expect(names.contains(target), "\(target)") }
        #expect("\(bill["metadata"] ?? "")".contains("2023-11-14T22:13:20Z"))
    }

    @Test func `the bill in SPDX names the same libraries, and each relation has both ends`() throws {
        let (directory, bytes) = (try directory.get(), try bill())
        let file = directory.path("spool.cdx.json")
        try bytes.write(to: URL(fileURLWithPath: file))
        let made = try run("/usr/bin/env", ["python3", "Tools/package/sbom.py", "--spdx", file])
        #expect(made.status == 0)
        let bill = try #require(try JSONSerialization.jsonObject(with: made.output) as? [String: Any])
        #expect(bill["spdxVersion"] as? String == "SPDX-2.3")
        let packages = try #require(bill["packages"] as? [[String: Any]])
        let source = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        let libraries = try #require(source["components"] as? [[String: Any]]).compactMap { $0["name"] as? String }
        #expect(packages.compactMap { $0["name"] as? String }.sorted() == (libraries + ["spool"]).sorted())
        let names = Set(packages.compactMap { $0["SPDXID"] as? String } + ["SPDXRef-DOCUMENT"])
        let relations = try #require(bill["relationships"] as? [[String: String]])
        #expect(relations.count > libraries.count)
        for relation in relations {
            for end in ["spdxElementId", "relatedSpdxElement"] { #expect(relation[end].map(names.contains) == true, "\(relation)") }
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: checkers), "scripts/setup test installs the checkers"))
    func `the bill is valid CycloneDX, and the image has no root`() throws {
        let directory = try directory.get()
        try bill().write(to: URL(fileURLWithPath: directory.path("sbom.json")))
        #expect(try run(Self.checkers, ["Tools/package/check.py", directory.path("sbom.json")]).status == 0)
    }

    @Test(arguments: [false, true])
    func `the health check of the image succeeds while the server answers`(isFile: Bool) throws {
        let directory = try directory.get()
        let file = directory.path("token")
        try "a-token\n".write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let token = isFile ? "@" + file : "a-token"
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--token", token, "--cache", directory.path("store")], in: directory)
        let line = try #require(server.readLine())
        let port = String(try #require(line.dropLast().split(separator: ":").last))
        let health = { (token: String) in
            try run("/bin/bash", ["packaging/health"], environment: ["SPOOL_TOKEN": token, "SPOOL_HEALTH_PORT": port]).status
        }
        #expect(try health(token) == 0)
        #expect(try health("another") != 0)
        server.send(SIGINT)
        _ = try server.end()
        #expect(try health(token) != 0)
    }
}
#endif
