/// The common parts of the memory rows: the measurement of a crowd, and its limits.
private enum Memory {
    private static let idleConnections = 1000
    private static let slowReaders = 200
    private static let seconds = 6.0
    /// The limit for hits without fetches.
    static let storedMiB = 32.0
    /// The buffer pool.
    static let poolMiB = 16.0
    static let perFetchMiB = 64.0 / 1024
    /// The number of concurrent fetches per host, times the origin's hosts.
    static let fetchesAtOnce = 6 * Nginx.hosts.count

    /// Returns the limit of a program that fetches.
    static func coldMiB(fetches: Int) -> Double {
        storedMiB + poolMiB + Double(fetches) * perFetchMiB
    }

    static func measures(bound: Double) -> [Measure] {
        [Measure("resident", "MiB", bound: bound), Measure("served", "connections"), Measure("taken", "MiB")]
    }

    /// Runs the crowd, and adds its cost and its bytes.
    ///
    /// Each idle connection gets its own 64 KiB and stays. Then the slow readers come, which
    /// request 16 MiB each.
    ///
    /// - Parameter hosts: The number of the origin's hosts that are used.
    static func measure(_ server: any Server, _ source: SourceFile, hosts: Int, _ measures: inout [Measure]) throws {
        try allowDescriptors(idleConnections + slowReaders)
        let idle = try LoadGenerator(port: server.port, connections: idleConnections)
        let served = try idle.run(count: idleConnections, source: source) { index in
            request(index, hosts, every: idleStride, from: idleStart, bytes: 64 * 1024, server, source)
        }
        let crowd = try Crowd()
        for reader in 0..<slowReaders {
            let request = request(reader, hosts, every: slowStride, from: 0, bytes: slowBytes, server, source)
            try crowd.add(.slow, port: server.port) { $0 == 0 ? request : nil }
        }
        var result = try withExtendedLifetime(idle) { try crowd.run(seconds: seconds, source: source) }
        result.served += served.times.count
        result.bytes += served.bytes
        add(result, server, to: &measures)
    }

    /// The distance between two slow readers with one host. With more hosts, each place is used on
    /// every host.
    private static let slowStride = 25 * Workbench.mebibyte
    private static let slowBytes = 16 * Workbench.mebibyte
    private static let idleStride = 5 * Workbench.mebibyte
    /// Chosen so that over eight hosts no idle connection's place is inside a slow reader's.
    private static let idleStart = 20 * Workbench.mebibyte

    private static func request(
        _ number: Int, _ hosts: Int, every stride: Int64, from start: Int64, bytes: Int64, _ server: any Server, _ source: SourceFile
    ) -> LoadRequest {
        let lower = start + Int64(number / hosts * hosts) * stride
        let range = lower..<lower + bytes
        let target = server.target(source.name, host: Nginx.hosts[number % hosts])
        return LoadRequest(target: target, range: range, expected: range, isChecked: true)
    }

    /// Adds the peak of resident memory since the program's start, or since the peak was reset.
    static func add(_ result: Crowd.Result, _ server: any Server, to measures: inout [Measure]) {
        measures[0].add(Double(server.usage.peakResidentBytes) / Double(Workbench.mebibyte), of: server.name)
        measures[1].add(Double(result.served), of: server.name)
        measures[2].add(Double(result.bytes) / Double(Workbench.mebibyte), of: server.name)
    }
}

/// 1000 connections that had their answer and stay open, and 200 slow readers, on a stored resource
/// of 5 GiB.
struct MemoryStoredRow: Row {
    let name = "memory-stored"

    func run(on bench: Workbench) throws -> [Measure] {
        var measures = Memory.measures(bound: Memory.storedMiB)
        let source = try bench.sparse()
        let peer = try bench.files()
        if bench.options.spool != nil {
            let directory = bench.newDirectory(), storing = try bench.spool(directory)
            try bench.fetchWhole(storing, source, isChecked: false)
            storing.stop()
            // A new process, so that the memory for storing does not count.
            let server = try bench.spool(directory)
            defer { server.discard() }
            try Memory.measure(server, source, hosts: 1, &measures)
        }
        try peer.usage.forgetPeak()
        try Memory.measure(peer, source, hosts: 1, &measures)
        return measures
    }
}

/// The same on an unstored resource, over eight hosts.
struct MemoryColdRow: Row {
    let name = "memory-cold"

    func run(on bench: Workbench) throws -> [Measure] {
        var measures = Memory.measures(bound: Memory.coldMiB(fetches: Memory.fetchesAtOnce))
        let source = try bench.sparse()
        guard let server = try bench.emptySpool() else { return measures }
        defer { server.discard() }
        try Memory.measure(server, source, hosts: Nginx.hosts.count, &measures)
        return measures
    }
}

/// 32 readers of unstored resources that read a little and stop.
struct MemoryStoppedRow: Row {
    /// Whether the origin is requested over HTTP/2, where four of the resources share a connection.
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
