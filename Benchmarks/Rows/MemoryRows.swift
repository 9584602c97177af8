/// What the memory rows share: how a crowd is measured, and what it may cost.
private enum Memory {
    static let connections = 200
    /// DESIGN: hits of a program without fetches.
    static let storedMiB = 32.0
    /// The buffer pool.
    static let poolMiB = 16.0
    static let perFetchMiB = 64.0 / 1024
    /// Fetches at once per host, and hosts that the origin has.
    static let fetchesAtOnce = 6 * Nginx.hosts.count

    /// The bound of a program that fetches.
    static func coldMiB(fetches: Int) -> Double {
        storedMiB + poolMiB + Double(fetches) * perFetchMiB
    }

    static func measures(bound: Double) -> [Measure] {
        [Measure("resident", "MiB", bound: bound), Measure("served", "connections"), Measure("taken", "MiB")]
    }

    /// Measures the most memory that was resident since the program's start, or since the peak was forgotten.
    static func add(_ result: Crowd.Result, _ server: any Server, to measures: inout [Measure]) {
        measures[0].add(Double(server.usage.peakResidentBytes) / Double(Workbench.mebibyte), of: server.name)
        measures[1].add(Double(result.served), of: server.name)
        measures[2].add(Double(result.bytes) / Double(Workbench.mebibyte), of: server.name)
    }
}

/// 200 connections on stored parts of a sparse 5 GiB resource, every second one a slow reader.
struct MemoryStoredRow: Row {
    let name = "memory-stored"

    private static let seconds = 6.0

    func run(on bench: Workbench) throws -> [Measure] {
        var measures = Memory.measures(bound: Memory.storedMiB)
        let source = try bench.sparse()
        let peer = try bench.files()
        if bench.options.spool != nil {
            let directory = bench.newDirectory()
            try store(try bench.spool(directory), source)
            // A new process: what storing took is not what serving takes.
            let server = try bench.spool(directory)
            defer { server.discard() }
            try measure(server, source, &measures)
        }
        try peer.usage.forgetPeak()
        try measure(peer, source, &measures)
        return measures
    }

    private func store(_ server: any Server, _ source: SourceFile) throws {
        defer { server.stop() }
        let load = try LoadGenerator(port: server.port, connections: 1)
        _ = try load.run(count: Workbench.sparseRegions.count, source: source) { index in
            let range = Workbench.sparseRegions[index]
            return LoadRequest(target: server.target(source.name), range: range, expected: range, isChecked: true)
        }
    }

    private func measure(_ server: any Server, _ source: SourceFile, _ measures: inout [Measure]) throws {
        let crowd = try Crowd()
        let target = server.target(source.name)
        for member in 0..<Memory.connections {
            try crowd.add(member % 2 == 0 ? .fast : .slow, port: server.port) { asked in
                let range = Workbench.sparseRegions[(member + asked) % Workbench.sparseRegions.count]
                return LoadRequest(target: target, range: range, expected: range, isChecked: true)
            }
        }
        Memory.add(try crowd.run(seconds: Self.seconds, source: source), server, to: &measures)
    }
}

/// The same crowd on parts that are not stored, over eight hosts.
struct MemoryColdRow: Row {
    let name = "memory-cold"

    private static let seconds = 8.0
    private static let rangeBytes = 16 * Workbench.mebibyte
    private static let stride = 200 * Workbench.mebibyte

    func run(on bench: Workbench) throws -> [Measure] {
        var measures = Memory.measures(bound: Memory.coldMiB(fetches: Memory.fetchesAtOnce))
        let source = try bench.sparse()
        guard let server = try bench.emptySpool() else { return measures }
        defer { server.discard() }
        let crowd = try Crowd()
        for member in 0..<Memory.connections {
            let host = Nginx.hosts[member % Nginx.hosts.count]
            let lower = Int64(member / Nginx.hosts.count) * Self.stride
            let range = lower..<lower + Self.rangeBytes
            let request = LoadRequest(target: server.target(source.name, host: host), range: range, expected: range, isChecked: true)
            // Fast and slow ones on every host.
            let isFast = (member / Nginx.hosts.count) % 2 == 0
            try crowd.add(isFast ? .fast : .slow, port: server.port) { $0 == 0 ? request : nil }
        }
        Memory.add(try crowd.run(seconds: Self.seconds, source: source), server, to: &measures)
        return measures
    }
}

/// 32 readers of resources that are not stored, who take a little and stop.
struct MemoryStoppedRow: Row {
    /// How the origin is asked. By HTTP/2, four of the resources share a connection.
    let isOverHTTP2: Bool

    var name: String { isOverHTTP2 ? "memory-stopped-h2" : "memory-stopped" }

    private static let seconds = 6.0
    private static let readers = 32
    private static let takenBytes: Int64 = 128 * 1024

    func run(on bench: Workbench) throws -> [Measure] {
        var measures = Memory.measures(bound: Memory.coldMiB(fetches: Self.readers))
        let source = try bench.sparse()
        guard let server = try isOverHTTP2 ? bench.emptySpoolOverHTTP2() : bench.emptySpool() else { return measures }
        defer { server.discard() }
        let crowd = try Crowd()
        for reader in 0..<Self.readers {
            let target = server.target(source.name + "?reader=\(reader)", host: Nginx.hosts[reader % Nginx.hosts.count])
            try crowd.add(.stopping(afterBytes: Self.takenBytes), port: server.port) { _ in
                LoadRequest(target: target, range: nil, expected: 0..<source.size, isChecked: true)
            }
        }
        Memory.add(try crowd.run(seconds: Self.seconds, source: source), server, to: &measures)
        return measures
    }
}
