/// The time from the start of the program to the first byte of a hit, with many resources in the
/// store.
///
/// The store's files are in the page cache, as after a restart of the program. The time includes
/// `setpriv`, which ends the program with the harness, a poll every millisecond for the port, and a
/// connection.
struct StartRow: Row {
    let resources: Int

    private static let rounds = 20

    var name: String { "start-\(resources)" }

    func run(on bench: Workbench) throws -> [Measure] {
        var time = Measure("first-byte", "ms"), resident = Measure("resident", "MiB")
        guard bench.options.spool != nil else { return [time, resident] }
        let source = try bench.note(), directory = try bench.storeOfNotes(resources)
        var random = SplitMix(seed: 1)
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let start = nanoseconds()
            let server = try bench.spool(directory)
            defer { server.stop() }
            let load = try LoadGenerator(port: server.port, connections: 1)
            let asked = nanoseconds()
            let result = try load.run(count: 1, source: source) { _ in
                bench.noteRequest(to: server, source, number: Int.random(in: 0..<resources, using: &random))
            }
            guard round > 0 else { continue }
            time.add(Double(asked - start + result.times[0].firstByte) / 1e6, of: server.name)
            resident.add(Double(server.usage.peakResidentBytes) / Double(Workbench.mebibyte), of: server.name)
        }
        return [time, resident]
    }
}
