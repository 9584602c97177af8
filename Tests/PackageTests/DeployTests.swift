import Foundation
import Testing

/// The files for several machines agree with the program and with each other.
struct DeployTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: PackageDirectory.url.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func `the flags of the nodes are flags of serve`() throws {
        let sources =
            try Self.text("Sources/SpoolCommand/CommandLine/ProxySettings.swift")
            + Self.text("Sources/SpoolCommand/CommandLine/CacheSettings.swift")
            + Self.text("Sources/SpoolCommand/CommandLine/LimitFlags.swift")
        for file in ["untried/compose/compose.yaml", "deploy/README.md"] {
            let nodes = try Self.text(file).split(separator: "\n").filter { $0.contains("--listen") || $0.contains("    - --") }
            let flags = nodes.flatMap { $0.matches(of: /--([a-z-]+)/).map { String($0.1) } }
            #expect(flags.count >= 4, "\(file)")
            for flag in flags { #expect(sources.contains("\"\(flag)\""), "\(file) has --\(flag)") }
        }
    }

    @Test(arguments: ["haproxy/haproxy.cfg", "nginx/nginx.conf"])
    func `a balancer has three nodes`(file: String) throws {
        let text = try Self.text("deploy/\(file)")
        for node in ["node1", "node2", "node3"] { #expect(text.contains(node)) }
        let services = try Self.text("untried/compose/compose.yaml")
        for node in ["node1", "node2", "node3"] { #expect(services.contains("  \(node):\n    <<: *node")) }
    }

    @Test(arguments: ["haproxy/haproxy.cfg", "nginx/nginx.conf"])
    func `a balancer refuses the page of a node, and passes on the segments of another host`(file: String) throws {
        let text = try Self.text("deploy/\(file)")
        let pattern = try #require(text.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("^(/[^/]*)?/_spool") })
        let refused = try Regex(String(pattern))
        for path in ["/_spool", "/_spool/", "/_spool/child", "/token/_spool/status", "/token/_spool/api/resources"] {
            #expect(path.contains(refused), "\(path)")
        }
        for path in ["/token/_spool/child/https/cdn.example/1.ts", "/_spool/child/https/cdn.example/1.ts", "/t/https/a.example/_spool/"] {
            #expect(!path.contains(refused), "\(path)")
        }
    }

    @Test func `files that another one mounts exist`() throws {
        let mounts = try Self.text("untried/compose/compose.yaml").matches(of: /[" ](\.\.?\/\S+?):\//).map { String($0.1) }
        #expect(mounts.count == 6)
        for mount in mounts {
            let url = PackageDirectory.url.appendingPathComponent("untried/compose/\(mount)").standardizedFileURL
            #expect(FileManager.default.fileExists(atPath: url.path), "\(mount)")
        }
    }
}
