/// Stored ranges at random aligned offsets over keep-alive connections, compared with nginx serving
/// the file itself.
struct HitRangeRow: Row {
    let label: String
    let rangeBytes: Int64
    let connections: Int
    /// The number of requests of one round.
    let requests: Int
    var peers = Peers.nginx

    /// The programs beside which a row is measured.
    enum Peers: Equatable {
        case nginx
        /// Varnish, Squid and rclone, too.
        case all
        /// Spool has this many loops. It is compared with one loop, and with nginx with as many
        /// workers. nginx with one worker shows what the second one costs it.
        case loops(Int)
    }

    private static let rounds = 10
    /// One of this many answers is compared with the source.
    private static let checkEvery = 64
    /// An optional program gets one of this many requests, because it may take 30 times as long.
    private static let optionalPart = 4

    var name: String {
        if case .loops(let count) = peers { "hit-\(label)-\(connections)-loops-\(count)" } else { "hit-\(label)-\(connections)" }
    }

    func run(on bench: Workbench) throws -> [Measure] {
        let servers = try servers(on: bench)
        let source = try bench.media()
        var cpu = Measure("cpu", "µs/request"), all = Measure("cpu-all", "µs/request"), rate = Measure("rate", "requests/s")
        var p50 = Measure("p50", "µs"), p99 = Measure("p99", "µs"), generator = Measure("generator", "µs CPU/request")
        try bench.alternate(servers, rounds: Self.rounds) { server, round in
            let load = try LoadGenerator(port: server.port, connections: connections)
            let request = requests(to: server, source, seed: UInt64(round))
            // Opens every connection at the server before its CPU time counts.
            _ = try load.run(count: connections, source: source, request: request)
            let usage = server.usage, before = usage.cpuNanoseconds
            let requests = server.isOptional ? requests / Self.optionalPart : requests
            let result = try load.run(count: requests, source: source, request: request)
            let used = usage.cpuNanoseconds - before
            guard round > 0 else { return }
            let count = Double(requests)
            let whole = result.times.map(\.complete)
            cpu.add(Double(used) / count / 1000, of: server.name)
            all.add(Double(used + result.ownCPUNanoseconds) / count / 1000, of: server.name)
            rate.add(count / Double(result.wallNanoseconds) * 1e9, of: server.name)
            p50.add(Double(whole.percentile(0.5)) / 1000, of: server.name)
            p99.add(Double(whole.percentile(0.99)) / 1000, of: server.name)
            generator.add(Double(result.ownCPUNanoseconds) / count / 1000, of: server.name)
        }
        return [cpu, all, rate, p50, p99, generator]
    }

    private func servers(on bench: Workbench) throws -> [any Server] {
        switch peers {
        case .nginx: try [bench.storedSpool(), bench.files()].compactMap { $0 }
        case .all: try [bench.storedSpool(), bench.files()].compactMap { $0 } + bench.storedOthers()
        case .loops(let count):
            try [bench.storedSpool(loops: count), bench.storedSpool(name: "spool-one"), bench.files(workers: count), bench.files()]
                .compactMap { $0 }
        }
    }

    private func requests(to server: any Server, _ source: SourceFile, seed: UInt64) -> (Int) -> LoadRequest {
        let target = server.target(source.name)
        let slots = source.size / rangeBytes
        var random = SplitMix(seed: seed)
        return { index in
            let lower = Int64.random(in: 0..<slots, using: &random) * rangeBytes
            let range = lower..<lower + rangeBytes
            return LoadRequest(target: target, range: range, expected: range, isChecked: index % Self.checkEvery == 0, isDropped: true)
        }
    }
}

/// A stored resource of 1 GiB read from its beginning to its end on one connection.
struct HitSequentialRow: Row {
    let name = "hit-1g"

    private static let rounds = 10

    func run(on bench: Workbench) throws -> [Measure] {
        let servers = try [bench.storedSpool(), bench.files()].compactMap { $0 } + bench.storedOthers()
        let source = try bench.media()
        var cpu = Measure("cpu", "s/GiB"), all = Measure("cpu-all", "s/GiB"), wall = Measure("wall", "s/GiB"),
            generator = Measure("generator", "s CPU/GiB")
        try bench.alternate(servers, rounds: Self.rounds) { server, round in
            let load = try LoadGenerator(port: server.port, connections: 1)
            let usage = server.usage, before = usage.cpuNanoseconds
            let result = try load.run(count: 1, source: source) { _ in
                LoadRequest(target: server.target(source.name), range: nil, expected: 0..<source.size, isChecked: round == 0)
            }
            let used = usage.cpuNanoseconds - before
            guard round > 0 else { return }
            let gibibytes = Double(source.size) / Double(Workbench.gibibyte)
            cpu.add(Double(used) / 1e9 / gibibytes, of: server.name)
            all.add(Double(used + result.ownCPUNanoseconds) / 1e9 / gibibytes, of: server.name)
            wall.add(Double(result.wallNanoseconds) / 1e9 / gibibytes, of: server.name)
            generator.add(Double(result.ownCPUNanoseconds) / 1e9 / gibibytes, of: server.name)
        }
        return [cpu, all, wall, generator]
    }
}

/// The time of ranges with sizes around the loopback segment size.
///
/// A server whose last segment waits for an acknowledgement takes 40 ms at some of these sizes and
/// at no other. The offsets are not aligned.
struct RangeSizeRow: Row {
    let name = "sizes"

    private static let rounds = 3
    private static let requests = 300
    private static let sizes: [Int64] = [60_000, 64 * 1024, 70_000, 200 * 1024]

    func run(on bench: Workbench) throws -> [Measure] {
        let servers = try [bench.storedSpool(), bench.files()].compactMap { $0 }
        let source = try bench.media()
        return try Self.sizes.flatMap { size in
            var p50 = Measure("p50-\(size)", "µs"), p99 = Measure("p99-\(size)", "µs")
            try bench.alternate(servers, rounds: Self.rounds) { server, round in
                let load = try LoadGenerator(port: server.port, connections: 1)
                var random = SplitMix(seed: UInt64(round))
                let result = try load.run(count: Self.requests, source: source) { index in
                    let lower = Int64.random(in: 0..<source.size - size, using: &random)
                    let range = lower..<lower + size
                    return LoadRequest(target: server.target(source.name), range: range, expected: range, isChecked: index % 16 == 0)
                }
                guard round > 0 else { return }
                let whole = result.times.map(\.complete)
                p50.add(Double(whole.percentile(0.5)) / 1000, of: server.name)
                p99.add(Double(whole.percentile(0.99)) / 1000, of: server.name)
            }
            return [p50, p99]
        }
    }
}
