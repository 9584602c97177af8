/// From the start of the program to the first byte of a hit, with so many resources in the store.
///
/// The store's files are in the page cache, as after a restart of the program. What the time has besides: `setpriv`, which ends
/// the program with the harness, a poll every millisecond for the port, and a connection.
struct StartRow: Row {
    let resources: Int

    private static let rounds = 20
    private static let connections = 16

    var name: String { "start-\(resources)" }

    func run(on bench: Workbench) throws -> [Measure] {
        var time = Measure("first-byte", "ms"), resident = Measure("resident", "MiB")
        guard bench.options.spool != nil else { return [time, resident] }
        let source = try bench.note(), directory = bench.newDirectory()
        try fill(bench, directory, source)
        var random = SplitMix(seed: 1)
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let start = nanoseconds()
            let server = try bench.spool(directory)
            defer { server.stop() }
            let load = try LoadGenerator(port: server.port, connections: 1)
            let asked = nanoseconds()
            let result = try load.run(count: 1, source: source) { _ in
                request(to: server, source, number: Int.random(in: 0..<resources, using: &random))
            }
            guard round > 0 else { continue }
            time.add(Double(asked - start + result.times[0].firstByte) / 1e6, of: server.name)
            resident.add(Double(server.usage.peakResidentBytes) / Double(Workbench.mebibyte), of: server.name)
        }
        return [time, resident]
    }

    private func fill(_ bench: Workbench, _ directory: String, _ source: SourceFile) throws {
        let server = try bench.spool(directory)
        defer { server.stop() }
        let load = try LoadGenerator(port: server.port, connections: min(Self.connections, resources))
        _ = try load.run(count: resources, source: source) { request(to: server, source, number: $0) }
    }

    private func request(to server: any Server, _ source: SourceFile, number: Int) -> LoadRequest {
        LoadRequest(target: server.target("\(source.name)?n=\(number)"), range: nil, expected: 0..<source.size, isChecked: true)
    }
}
