import SpoolLibc
import SpoolSystem

/// The cost of a playlist with 5 000 absolute references: a version that was rewritten before, a new
/// one, and a new one behind a fixed origin, where each reference to another host gets a proof.
///
/// Its bytes are sent as those of every hit are, and a new version is stored as every miss is. So as
/// many bytes that are no playlist are asked for beside it, and their cost is subtracted.
///
/// A new version is compared with a checksum of the playlist by tables, in the harness's own process.
/// Both do nothing but compute, so their ratio differs little between machines.
struct ManifestRow: Row {
    let name = "manifest-5000"

    private static let segments = 5_000
    private static let rounds = 10
    private static let unchanged = 200
    private static let changed = 40
    /// The age of the file. An origin's answer without a lifetime is fresh for a tenth of it.
    private static let ageSeconds = 864_000

    func run(on bench: Workbench) throws -> [Measure] {
        let origin = try bench.origin(), site = ["--origin", "http://127.0.0.1:\(origin.port)"]
        guard let server = try bench.emptySpool(), let gateway = try bench.emptySpool(before: origin, flags: site) else { return [] }
        defer {
            server.discard()
            gateway.discard()
        }
        let directory = bench.directory + "/origin", host = "http://127.0.0.1:\(origin.port)"
        let text = try Self.writeFiles("list", host: host, directory: directory)
        let foreign = try Self.writeFiles("foreign", host: "http://cdn.example.com", directory: directory)
        let size = Int64(text.count), own = size - Int64(Self.segments)
        // The proof and the address at the proxy take 32 bytes more than the host's.
        let proved = Int64(foreign.count + 32 * Self.segments)
        var unchanged = Measure("unchanged", "µs/request"), changed = Measure("changed", "µs/request")
        var behindOrigin = Measure("foreign", "µs/request")
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let same = try cpu(of: server, Self.unchanged, bench) { _ in (server.target("list.m3u8"), own) }
            let hit = try cpu(of: server, Self.unchanged, bench) { _ in (server.target("list.bin"), size) }
            let new = try cpu(of: server, Self.changed, bench) { (server.target("list.m3u8?n=\(round)-\($0)"), own) }
            let plain = try cpu(of: server, Self.changed, bench) { (server.target("list.bin?n=\(round)-\($0)"), size) }
            let newForeign = try cpu(of: gateway, Self.changed, bench) { ("/foreign.m3u8?n=\(round)-\($0)", proved) }
            let plainForeign = try cpu(of: gateway, Self.changed, bench) { ("/foreign.bin?n=\(round)-\($0)", Int64(foreign.count)) }
            guard round > 0 else { continue }
            unchanged.add(max(0, same - hit), of: server.name)
            changed.add(max(0, new - plain), of: server.name)
            changed.add(Self.checksum(text), of: "table")
            behindOrigin.add(max(0, newForeign - plainForeign), of: server.name)
            behindOrigin.add(Self.checksum(foreign), of: "table")
        }
        return [unchanged, changed, behindOrigin]
    }

    /// Writes a playlist, and a file that differs in its first byte, by which it is no playlist.
    ///
    /// - Returns: The playlist.
    private static func writeFiles(_ name: String, host: String, directory: String) throws -> [UInt8] {
        let references = (0..<segments).map {
            "#EXTINF:4.004,\n\(host)/video/1080p/segment-\($0).ts?token=0123456789abcdef\n"
        }
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:5\n\(references.joined())#EXT-X-ENDLIST\n"
        for (type, text) in [("m3u8", text), ("bin", "-" + text.dropFirst())] {
            let path = "\(directory)/\(name).\(type)"
            try writeFile(text, to: path)
            let old = timeval(tv_sec: time(nil) - ageSeconds, tv_usec: 0)
            guard utimes(path, [old, old]) == 0 else { throw BenchmarkError.system("utimes \(path)") }
        }
        return Array(text.utf8)
    }

    /// Returns the CPU time of the checksum of a text by tables, in microseconds.
    private static func checksum(_ text: [UInt8]) -> Double {
        let before = ownCPUNanoseconds()
        for _ in 0..<changed { precondition(text.withUnsafeBytes { CRC32C.of($0, after: 0, by: .table) } != 1) }
        return Double(ownCPUNanoseconds() - before) / Double(changed) / 1000
    }

    /// Returns the CPU time of the server for each of `count` requests, in microseconds.
    private func cpu(
        of server: any Server, _ count: Int, _ bench: Workbench, _ resource: (Int) -> (target: String, size: Int64)
    ) throws -> Double {
        let load = try LoadGenerator(port: server.port, connections: 1)
        let usage = server.usage, before = usage.cpuNanoseconds
        _ = try load.run(count: count, source: bench.note()) { index in
            let (target, size) = resource(index)
            return LoadRequest(target: target, range: nil, expected: 0..<size, isChecked: false, isDropped: true)
        }
        return Double(usage.cpuNanoseconds - before) / Double(count) / 1000
    }
}
