import SpoolLibc

/// The cost of a playlist with 5 000 absolute references: a version that was rewritten before, and a
/// new one.
///
/// Its bytes are sent as those of every hit are, and a new version is stored as every miss is. So as
/// many bytes that are no playlist are asked for beside it, and their cost is subtracted.
struct ManifestRow: Row {
    let name = "manifest-5000"

    private static let segments = 5_000
    private static let rounds = 10
    private static let unchanged = 200
    private static let changed = 40
    /// The age of the file. An origin's answer without a lifetime is fresh for a tenth of it.
    private static let ageSeconds = 864_000

    func run(on bench: Workbench) throws -> [Measure] {
        guard let server = try bench.emptySpool() else { return [] }
        defer { server.discard() }
        let size = try Self.writeFiles(origin: bench.origin().port, directory: bench.directory + "/origin")
        var unchanged = Measure("unchanged", "µs/request"), changed = Measure("changed", "µs/request")
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let same = try cpu(of: server, Self.unchanged, bench) { _ in ("list.m3u8", size - Int64(Self.segments)) }
            let hit = try cpu(of: server, Self.unchanged, bench) { _ in ("list.bin", size) }
            let new = try cpu(of: server, Self.changed, bench) { ("list.m3u8?n=\(round)-\($0)", size - Int64(Self.segments)) }
            let plain = try cpu(of: server, Self.changed, bench) { ("list.bin?n=\(round)-\($0)", size) }
            guard round > 0 else { continue }
            unchanged.add(max(0, same - hit), of: server.name)
            changed.add(max(0, new - plain), of: server.name)
        }
        return [unchanged, changed]
    }

    /// Writes the playlist, and a file that differs in its first byte, by which it is no playlist.
    /// Returns their size. Each reference becomes one byte shorter when it leads through the proxy.
    private static func writeFiles(origin: UInt16, directory: String) throws -> Int64 {
        let references = (0..<segments).map {
            "#EXTINF:4.004,\nhttp://127.0.0.1:\(origin)/video/1080p/segment-\($0).ts?token=0123456789abcdef\n"
        }
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:5\n\(references.joined())#EXT-X-ENDLIST\n"
        for (name, text) in [("list.m3u8", text), ("list.bin", "-" + text.dropFirst())] {
            let path = "\(directory)/\(name)"
            try writeFile(text, to: path)
            let old = timeval(tv_sec: time(nil) - ageSeconds, tv_usec: 0)
            guard utimes(path, [old, old]) == 0 else { throw BenchmarkError.system("utimes \(path)") }
        }
        return Int64(text.utf8.count)
    }

    /// Returns the CPU time of the server for each of `count` requests, in microseconds.
    private func cpu(
        of server: any Server, _ count: Int, _ bench: Workbench, _ resource: (Int) -> (name: String, size: Int64)
    ) throws -> Double {
        let load = try LoadGenerator(port: server.port, connections: 1)
        let usage = server.usage, before = usage.cpuNanoseconds
        _ = try load.run(count: count, source: bench.note()) { index in
            let (name, size) = resource(index)
            return LoadRequest(target: server.target(name), range: nil, expected: 0..<size, isChecked: false, isDropped: true)
        }
        return Double(usage.cpuNanoseconds - before) / Double(count) / 1000
    }
}
