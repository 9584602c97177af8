/// The same work at growing sizes, to compare the cost at the largest size with that at smaller
/// ones.
///
/// In the table a size takes the place of a program. Every measure is a time in microseconds.
protocol CurveRow: Row {
    /// The title of the panel in the drawing.
    var title: String { get }
    /// The label of the horizontal axis.
    var axis: String { get }
    /// The sizes, the smallest first.
    var points: [Int] { get }
}

extension CurveRow {
    var ours: String { points.last.map(String.init) ?? "" }
}

/// Returns the CPU time of a server for the requests in `body`.
private func cpuNanoseconds(of server: any Server, _ body: () throws -> Void) rethrows -> Double {
    let usage = server.usage, before = usage.cpuNanoseconds
    try body()
    return Double(usage.cpuNanoseconds - before)
}

/// Returns requests for stored ranges of `bytes` bytes at random aligned offsets. One answer of 64
/// is compared with the source.
private func randomHits(_ server: any Server, _ source: SourceFile, bytes: Int64, seed: UInt64) -> (Int) -> LoadRequest {
    let target = server.target(source.name), slots = source.size / bytes
    var random = SplitMix(seed: seed)
    return { index in
        let lower = Int64.random(in: 0..<slots, using: &random) * bytes
        return LoadRequest(target: target, range: lower..<lower + bytes, expected: lower..<lower + bytes, isChecked: index % 64 == 0)
    }
}

/// Hits of 4 KiB, one after the other on one open connection: the cost of one after many others.
struct RequestsCurve: CurveRow {
    let name = "curve-requests"
    let title = "requests on one connection"
    let axis = "requests so far"
    let points = [100, 1000, 10_000, 100_000]

    private static let rounds = 3
    private static let rangeBytes: Int64 = 4096

    func run(on bench: Workbench) throws -> [Measure] {
        var cpu = Measure("hit", "µs CPU")
        guard let server = try bench.storedSpool() else { return [cpu] }
        let source = try bench.media()
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let load = try LoadGenerator(port: server.port, connections: 1)
            let request = randomHits(server, source, bytes: Self.rangeBytes, seed: UInt64(round))
            var done = 0
            for point in round == 0 ? points.dropLast() : points {
                // The cost of the requests since the last point, so that a slow end does not vanish
                // in a quick beginning.
                let used = try cpuNanoseconds(of: server) { _ = try load.run(count: point - done, source: source, request: request) }
                if round > 0 { cpu.add(used / Double(point - done) / 1000, of: String(point)) }
                done = point
            }
        }
        return [cpu]
    }
}

/// Hits of 4 KiB over many connections at once, each with one open request.
struct ConnectionsCurve: CurveRow {
    let name = "curve-connections"
    let title = "connections"
    let axis = "connections at once"
    let points = [1, 10, 100, 1000]

    private static let rounds = 5
    private static let rangeBytes: Int64 = 4096
    private static let requests = 10_000

    func run(on bench: Workbench) throws -> [Measure] {
        var cpu = Measure("hit", "µs CPU")
        guard let server = try bench.storedSpool() else { return [cpu] }
        let source = try bench.media()
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            for point in round % 2 == 0 ? points : points.reversed() {
                let load = try LoadGenerator(port: server.port, connections: point)
                let request = randomHits(server, source, bytes: Self.rangeBytes, seed: UInt64(round))
                // Opens every connection at the server before its CPU time counts.
                _ = try load.run(count: point, source: source, request: request)
                let used = try cpuNanoseconds(of: server) { _ = try load.run(count: Self.requests, source: source, request: request) }
                if round > 0 { cpu.add(used / Double(Self.requests) / 1000, of: String(point)) }
            }
        }
        return [cpu]
    }
}

/// A store with many resources: a start, the program's own work after it, first hits of resources,
/// and further hits of the same ones.
struct ResourcesCurve: CurveRow {
    let name = "curve-resources"
    let title = "resources in the store"
    let axis = "resources of 1 KiB"
    let points = [10, 100, 1000, 10_000, 100_000]

    private static let rounds = 10
    /// The number of resources that are requested after a start, spread over the store.
    private static let asked = 10
    private static let again = 2000

    func run(on bench: Workbench) throws -> [Measure] {
        var start = Measure("start", "µs"), first = Measure("first-hit", "µs CPU"), hit = Measure("hit", "µs CPU")
        var until = Measure("until-quiet", "µs CPU")
        guard bench.options.spool != nil else { return [start, first, hit, until] }
        let source = try bench.note()
        let directories = try points.map { try bench.storeOfNotes($0) }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            for (point, directory) in zip(points, directories) {
                let began = nanoseconds()
                let server = try bench.spool(directory)
                defer { server.stop() }
                let load = try LoadGenerator(port: server.port, connections: 1)
                let stride = point / Self.asked
                let request = { (index: Int) in bench.noteRequest(to: server, source, number: (index % Self.asked * stride + round) % point)
                }
                let ready = nanoseconds()
                let one = try load.run(count: 1, source: source) { request($0) }
                let quiet = Self.cpuUntilQuiet(server)
                let cold = try cpuNanoseconds(of: server) { _ = try load.run(count: Self.asked - 1, source: source) { request($0 + 1) } }
                let warm = try cpuNanoseconds(of: server) { _ = try load.run(count: Self.again, source: source) { request($0) } }
                // A resource that is not stored would be a miss.
                let fetched = try (server as? SpoolServe)?.fetchedBytes() ?? 0
                guard fetched == 0 else { throw BenchmarkError("\(fetched) bytes of \(point) stored resources were fetched") }
                guard round > 0 else { continue }
                start.add(Double(ready - began + one.times[0].firstByte) / 1000, of: String(point))
                first.add(cold / Double(Self.asked - 1) / 1000, of: String(point))
                hit.add(warm / Double(Self.again) / 1000, of: String(point))
                until.add(quiet / 1000, of: String(point))
            }
        }
        return [start, first, hit, until]
    }

    /// Waits until the program is idle, at most 20 s, and returns its CPU time since the start.
    private static func cpuUntilQuiet(_ server: any Server) -> Double {
        var used: UInt64 = 0
        for _ in 0..<100 {
            let now = server.usage.cpuNanoseconds
            // Timers use less than this, real work uses more.
            if now - used < 1_000_000 { return Double(now) }
            used = now
            pause(milliseconds: 200)
        }
        return Double(used)
    }
}

/// A file of 1 GiB with many stored islands of 1 KiB: one more island, the first hit after a start,
/// and hits.
struct SpansCurve: CurveRow {
    let name = "curve-spans"
    let title = "spans of one file"
    let axis = "islands of 1 KiB"
    let points = [10, 100, 1000, 10_000]

    private static let rounds = 3
    private static let islandBytes: Int64 = 1024
    /// One island in every block, so none touches its neighbour.
    private static let strideBytes: Int64 = 64 * 1024
    /// The number of islands that are read, spread over the file. They are verified first, so that
    /// the row does not count the verification.
    private static let asked = 10
    private static let hits = 2000

    func run(on bench: Workbench) throws -> [Measure] {
        var store = Measure("store", "µs CPU"), first = Measure("first-hit", "µs"), hit = Measure("hit", "µs CPU")
        guard bench.options.spool != nil else { return [store, first, hit] }
        let source = try bench.media()
        for _ in 0..<(bench.options.rounds ?? Self.rounds) {
            let directory = bench.newDirectory()
            defer { emptyTree(directory) }
            var stored = 0
            for point in points {
                let server = try bench.spool(directory)
                let used = try storeIslands(stored..<point, server, source)
                store.add(used / Double(point - stored) / 1000, of: String(point))
                stored = point
                // A new process starts from the index alone.
                server.stop()
                let next = try bench.spool(directory)
                defer { next.stop() }
                let load = try LoadGenerator(port: next.port, connections: 1)
                let request = { (index: Int) in island(index % Self.asked * (point / Self.asked), next, source) }
                first.add(Double(try load.run(count: 1, source: source, request: request).times[0].firstByte) / 1000, of: String(point))
                _ = try load.run(count: Self.asked, source: source, request: request)
                let warm = try cpuNanoseconds(of: next) { _ = try load.run(count: Self.hits, source: source, request: request) }
                hit.add(warm / Double(Self.hits) / 1000, of: String(point))
            }
        }
        return [store, first, hit]
    }

    private func storeIslands(_ numbers: Range<Int>, _ server: any Server, _ source: SourceFile) throws -> Double {
        let load = try LoadGenerator(port: server.port, connections: 1)
        return try cpuNanoseconds(of: server) {
            _ = try load.run(count: numbers.count, source: source) { island(numbers.lowerBound + $0, server, source) }
        }
    }

    /// The order of the islands is irregular: an odd step visits each of 2^14 blocks once.
    private func island(_ number: Int, _ server: any Server, _ source: SourceFile) -> LoadRequest {
        let slots = source.size / Self.strideBytes
        let lower = (Int64(number + 1) * 7919 % slots) * Self.strideBytes + 4096
        let range = lower..<lower + Self.islandBytes
        return LoadRequest(target: server.target(source.name), range: range, expected: range, isChecked: true)
    }
}

/// A stored file of many MiB: the first hit after a start, hits of 64 KiB, and a read from
/// beginning to end.
struct SizeCurve: CurveRow {
    let name = "curve-size"
    let title = "size of one file"
    let axis = "MiB"
    let points = [1, 16, 256, 4096]

    private static let rounds = 3
    private static let rangeBytes: Int64 = 64 * 1024
    private static let hits = 2000
    /// The amount that is read in total. Small files are read many times.
    private static let movedMiB = 256

    func run(on bench: Workbench) throws -> [Measure] {
        var first = Measure("first-hit", "µs"), hit = Measure("hit", "µs CPU"), whole = Measure("mib", "µs CPU")
        guard bench.options.spool != nil else { return [first, hit, whole] }
        let directory = bench.newDirectory()
        defer { emptyTree(directory) }
        let sources = try points.map { try bench.sparse(mebibytes: $0) }
        let filler = try bench.spool(directory)
        for source in sources { try bench.fetchWhole(filler, source, isChecked: true) }
        filler.stop()
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            for (point, source) in zip(points, sources) {
                let server = try bench.spool(directory)
                defer { server.stop() }
                let load = try LoadGenerator(port: server.port, connections: 1)
                let request = randomHits(server, source, bytes: Self.rangeBytes, seed: UInt64(round))
                let one = try load.run(count: 1, source: source, request: request)
                // Verifies every block.
                try bench.fetchWhole(server, source, isChecked: false)
                let ranges = try cpuNanoseconds(of: server) { _ = try load.run(count: Self.hits, source: source, request: request) }
                let count = max(1, Self.movedMiB / point)
                let reads = try cpuNanoseconds(of: server) {
                    _ = try load.run(count: count, source: source) { _ in
                        LoadRequest(target: server.target(source.name), range: nil, expected: 0..<source.size, isChecked: false)
                    }
                }
                guard round > 0 else { continue }
                first.add(Double(one.times[0].firstByte) / 1000, of: String(point))
                hit.add(ranges / Double(Self.hits) / 1000, of: String(point))
                whole.add(reads / Double(count * point) / 1000, of: String(point))
            }
        }
        return [first, hit, whole]
    }
}
