/// The time from a request to the first byte of a stored body.
struct FirstByteHitRow: Row {
    let name = "first-byte-hit"

    private static let rounds = 10
    private static let requests = 200
    private static let rangeBytes: Int64 = 64 * 1024

    func run(on bench: Workbench) throws -> [Measure] {
        let servers = try [bench.storedSpool(), bench.files()].compactMap { $0 }
        let source = try bench.media()
        var time = Measure("time", "µs")
        try bench.alternate(servers, rounds: Self.rounds) { server, round in
            let load = try LoadGenerator(port: server.port, connections: 1)
            var random = SplitMix(seed: UInt64(round))
            let result = try load.run(count: Self.requests, source: source) { index in
                let lower = Int64.random(in: 0..<source.size - Self.rangeBytes, using: &random)
                let range = lower..<lower + Self.rangeBytes
                return LoadRequest(target: server.target(source.name), range: range, expected: range, isChecked: index % 16 == 0)
            }
            guard round > 0 else { return }
            for times in result.times { time.add(Double(times.firstByte) / 1000, of: server.name) }
        }
        return [time]
    }
}

/// The time from a request to the first byte of a body that is not stored, with an open connection
/// to the origin.
///
/// Each request is for a segment of 1 MiB under a new name. The whole segment is read before the
/// next request. `time` and `whole` are of requests without a pause, so that the program's
/// remaining work for one segment delays the next. `apart` is of requests with a pause between
/// them, as players make them.
struct FirstByteMissRow: Row {
    let name = "first-byte-miss"

    private static let rounds = 12
    private static let requests = 30
    private static let pauseMicroseconds: UInt32 = 20_000

    func run(on bench: Workbench) throws -> [Measure] {
        let origin = try bench.origin().port
        let servers = try [
            bench.emptySpool(), bench.emptyNginx("nginx-cache", .wholeCache(origin: origin)),
            bench.emptyNginx("nginx-slice", .sliceCache(origin: origin)),
        ].compactMap { $0 }
        defer { for server in servers { server.stop() } }
        let source = try bench.segment()
        var first = Measure("time", "µs"), whole = Measure("whole", "µs"), apart = Measure("apart", "µs")
        try bench.alternate(servers, rounds: Self.rounds) { server, round in
            let load = try LoadGenerator(port: server.port, connections: 1)
            func times(_ kind: String, pause: UInt32) throws -> [ResponseTimes] {
                try load.run(count: Self.requests, source: source, pauseMicroseconds: pause) { index in
                    let target = server.target(source.name + "?n=\(kind)-\(round)-\(index)")
                    return LoadRequest(target: target, range: nil, expected: 0..<source.size, isChecked: true)
                }.times
            }
            let (together, single) = try (times("together", pause: 0), times("apart", pause: Self.pauseMicroseconds))
            guard round > 0 else { return }
            for times in together {
                first.add(Double(times.firstByte) / 1000, of: server.name)
                whole.add(Double(times.complete) / 1000, of: server.name)
            }
            for times in single { apart.add(Double(times.firstByte) / 1000, of: server.name) }
        }
        return [first, whole, apart]
    }
}
