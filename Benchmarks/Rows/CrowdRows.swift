import SpoolLibc

/// Hits of ordinary clients, alone and beside a slow crowd.
///
/// Both in turn on one server, so that other load on the machine affects both. The ratio is the
/// measure. On a busy machine, the ratio of CPU times is more reliable than that of speeds.
struct CrowdRow: Row {
    let crowd: Bystander
    let count: Int
    /// The limit of resident memory in MiB: hits, and the cost of the crowd's connections.
    let boundMiB: Double

    var name: String { "crowd-\(crowd.rawValue)" }

    private static let rounds = 5
    private static let connections = 8
    private static let requests = 4000
    private static let rangeBytes: Int64 = 64 * 1024
    private static let startSeconds = 60
    /// The name in the table for the measurement without a crowd.
    private static let alone = "spool-alone"

    func run(on bench: Workbench) throws -> [Measure] {
        var rate = Measure("rate", "requests/s"), cpu = Measure("cpu", "µs/request"), time = Measure("p99", "µs"),
            held = Measure("held", "connections")
        var resident = Measure("resident", "MiB", bound: boundMiB)
        guard bench.options.spool != nil else { return [rate, cpu, time, held, resident] }
        let server = try bench.spool(bench.newDirectory())
        defer { server.discard() }
        let source = try bench.media()
        // Stores the media, then verifies it.
        for _ in 0..<2 { try bench.fetchWhole(server, source, isChecked: false) }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            for isCrowded in round % 2 == 0 ? [false, true] : [true, false] {
                let before = Self.openFiles(of: server)
                let bystanders = isCrowded ? try start(beside: server, bench, source) : []
                defer { for program in bystanders { program.stop() } }
                let usage = server.usage, used = usage.cpuNanoseconds
                let (perSecond, p99) = try measure(server, source, seed: UInt64(round))
                let spent = usage.cpuNanoseconds - used
                guard round > 0 else { continue }
                rate.add(perSecond, of: isCrowded ? ours : Self.alone)
                cpu.add(Double(spent) / Double(Self.requests) / 1000, of: isCrowded ? ours : Self.alone)
                time.add(p99, of: isCrowded ? ours : Self.alone)
                guard isCrowded else { continue }
                held.add(Double(Self.openFiles(of: server) - before), of: ours)
                resident.add(Double(server.usage.peakResidentBytes) / Double(Workbench.mebibyte), of: ours)
            }
        }
        return [rate, cpu, time, held, resident]
    }

    private func measure(_ server: any Server, _ source: SourceFile, seed: UInt64) throws -> (rate: Double, p99: Double) {
        let load = try LoadGenerator(port: server.port, connections: Self.connections)
        let target = server.target(source.name)
        var random = SplitMix(seed: seed)
        let result = try load.run(count: Self.requests, source: source) { index in
            let lower = Int64.random(in: 0..<source.size / Self.rangeBytes, using: &random) * Self.rangeBytes
            let range = lower..<lower + Self.rangeBytes
            return LoadRequest(target: target, range: range, expected: range, isChecked: index % 64 == 0)
        }
        let perSecond = Double(Self.requests) / Double(result.wallNanoseconds) * 1e9
        return (perSecond, Double(result.times.map(\.complete).percentile(0.99)) / 1000)
    }

    // MARK: The crowd

    /// Starts the crowd, and returns when it is complete.
    private func start(beside server: any Server, _ bench: Workbench, _ source: SourceFile) throws -> [Program] {
        guard crowd == .slowOrigin else { return [try program(crowd, server.target(source.name), port: server.port, bench).0] }
        // Readers of a slow origin, on enough of its hosts to use every fetch that is allowed at
        // once.
        let (origin, port) = try program(.slowOrigin, "-", port: 0, bench)
        return try [origin]
            + Nginx.hosts.map { host in
                try program(.readers, "/http/\(host):\(port)/film", port: server.port, bench, count: count / Nginx.hosts.count).0
            }
    }

    private func program(
        _ kind: Bystander, _ target: String, port: UInt16, _ bench: Workbench, count: Int? = nil
    ) throws -> (Program, port: UInt16) {
        guard let path = ownPath() else { throw BenchmarkError("/proc/self/exe can't be read") }
        let log = bench.newDirectory() + ".log"
        let words = [path, "--crowd", kind.rawValue, "--port", String(port), "--target", target, "--count", String(count ?? self.count)]
        let program = try Program(kind.rawValue, words, logPath: log)
        let answer = try program.waitUntilReady(seconds: Self.startSeconds) {
            program.log.split(separator: "\n").first { $0.hasPrefix(Bystander.ready) }.map(String.init)
        }
        return (program, answer.split(separator: " ").last.flatMap { UInt16($0) } ?? 0)
    }

    /// The number of the program's open descriptors.
    private static func openFiles(of server: any Server) -> Int {
        fileNames(in: "/proc/\(server.program.process)/fd")?.count ?? 0
    }
}
