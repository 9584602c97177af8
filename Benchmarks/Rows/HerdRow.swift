/// 64 readers that begin one unstored resource of 256 MiB at the same moment, compared with 64
/// readers of a stored one.
///
/// Both of the same program, in turn. The origin counts the bytes that it sends. All its responses
/// end by themselves, so the count is the number of fetched bytes.
struct HerdRow: Row {
    let name = "herd-256m"
    let ours = "cold"
    /// The name in the table for readers of a stored resource.
    private static let stored = "stored"

    private static let rounds = 10
    private static let readers = 64
    /// The origin logs a response when it has ended, which may be after its last byte has arrived.
    private static let settleMilliseconds: UInt32 = 200

    func run(on bench: Workbench) throws -> [Measure] {
        var wall = Measure("wall", "s"), fetched = Measure("origin", "times"), cpu = Measure("cpu-all", "s")
        let origin = try bench.countedOrigin()
        defer { origin.stop() }
        guard let server = try bench.emptySpool(before: origin) else { return [wall, fetched, cpu] }
        defer { server.discard() }
        let source = try bench.clip()
        // Stores the media, then verifies it.
        for _ in 0..<2 { try bench.fetchWhole(server, source, isChecked: true) }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            for isCold in round % 2 == 0 ? [true, false] : [false, true] {
                pause(milliseconds: Self.settleMilliseconds)
                _ = try origin.takeSentBytes()
                let usage = server.usage, originUsage = origin.usage
                let used = usage.cpuNanoseconds + originUsage.cpuNanoseconds
                let result = try read(server, isCold ? source.name + "?n=\(round)" : source.name, source, isChecked: round == 0)
                let spent = usage.cpuNanoseconds + originUsage.cpuNanoseconds - used + result.ownCPUNanoseconds
                pause(milliseconds: Self.settleMilliseconds)
                let sent = try origin.takeSentBytes()
                guard round > 0 else { continue }
                wall.add(Double(result.wallNanoseconds) / 1e9, of: isCold ? ours : Self.stored)
                fetched.add(Double(sent) / Double(source.size), of: isCold ? ours : Self.stored)
                cpu.add(Double(spent) / 1e9, of: isCold ? ours : Self.stored)
            }
        }
        return [wall, fetched, cpu]
    }

    private func read(_ server: any Server, _ path: String, _ source: SourceFile, isChecked: Bool) throws -> LoadResult {
        let load = try LoadGenerator(port: server.port, connections: Self.readers)
        return try load.run(count: Self.readers, source: source) { _ in
            LoadRequest(target: server.target(path), range: nil, expected: 0..<source.size, isChecked: isChecked)
        }
    }
}
