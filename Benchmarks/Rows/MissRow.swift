/// A resource of 1 GiB through an empty cache, on one connection.
///
/// On loopback the receiving side of TCP runs in the sender's context, so CPU time moves between
/// the processes. Only the sum over origin, cache and generator can be compared.
struct MissRow: Row {
    let name = "miss-1g"

    private static let rounds = 10
    /// The wait after the last byte, because a cache's remaining work belongs to the transfer.
    private static let settleMilliseconds: UInt32 = 1500
    /// Spool may make its last durable point five seconds after a commit.
    private static let ownSettleMilliseconds: UInt32 = 6500
    /// The only thread that uses the index.
    private static let indexThread = "spool-index"

    private struct Cost {
        var cache = 0.0, origin = 0.0, generator = 0.0, wall = 0.0, residentMiB = 0.0, residentAfterMiB = 0.0
        /// The part of the cache's CPU time for its index.
        var index: Double?
    }

    func run(on bench: Workbench) throws -> [Measure] {
        let origin = try bench.origin(), source = try bench.media()
        var all = Measure("cpu", "s/GiB"), cache = Measure("cpu-cache", "s/GiB"), from = Measure("cpu-origin", "s/GiB")
        var generator = Measure("generator", "s CPU/GiB"), wall = Measure("wall", "s/GiB"), resident = Measure("resident", "MiB")
        // What the program keeps, once the transfer and all work for it are over.
        var after = Measure("after", "MiB")
        // The index lane's part of the program's CPU time: committing stored bytes, and syncing the
        // index's log at durable points. The checks of blocks (data lanes) and the syncs of data
        // files (sync lane) are in the other figures.
        var commits = Measure("commits", "% of cpu")
        var starts: [(isOptional: Bool, start: () throws -> (any Server)?)] = [
            (false, { try bench.emptySpool() }),
            (false, { try bench.emptyNginx("nginx-cache", .wholeCache(origin: origin.port)) }),
            (false, { try bench.emptyNginx("nginx-slice", .sliceCache(origin: origin.port)) }),
        ]
        for kind in OtherCacheKind.allCases { starts.append((true, { try bench.emptyOther(kind) })) }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            for (isOptional, start) in starts where bench.takesPart(isOptional, in: round) {
                guard let server = try start() else { continue }
                let transfer: () throws -> Cost = { try self.transfer(server, origin, source, isChecked: round == 0) }
                guard let cost = isOptional ? bench.optional(server.name, transfer) : try transfer(), round > 0 else { continue }
                all.add(cost.cache + cost.origin + cost.generator, of: server.name)
                cache.add(cost.cache, of: server.name)
                from.add(cost.origin, of: server.name)
                generator.add(cost.generator, of: server.name)
                wall.add(cost.wall, of: server.name)
                resident.add(cost.residentMiB, of: server.name)
                after.add(cost.residentAfterMiB, of: server.name)
                if let index = cost.index { commits.add(index / cost.cache * 100, of: server.name) }
            }
            starts.reverse()
        }
        return [all, cache, from, generator, wall, resident, after, commits]
    }

    private func transfer(_ server: any Server, _ origin: any Server, _ source: SourceFile, isChecked: Bool) throws -> Cost {
        defer { server.discard() }
        let load = try LoadGenerator(port: server.port, connections: 1)
        let usage = server.usage, originUsage = origin.usage
        let before = usage.cpuNanoseconds, originBefore = originUsage.cpuNanoseconds
        let indexBefore = usage.cpuNanoseconds(ofThread: Self.indexThread) ?? 0
        let result = try load.run(count: 1, source: source) { _ in
            LoadRequest(target: server.target(source.name), range: nil, expected: 0..<source.size, isChecked: isChecked)
        }
        pause(milliseconds: server is SpoolServe ? Self.ownSettleMilliseconds : Self.settleMilliseconds)
        let gibibytes = Double(source.size) / Double(Workbench.gibibyte)
        func seconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1e9 / gibibytes }
        return Cost(
            cache: seconds(usage.cpuNanoseconds - before), origin: seconds(originUsage.cpuNanoseconds - originBefore),
            generator: seconds(result.ownCPUNanoseconds), wall: seconds(result.wallNanoseconds),
            residentMiB: Double(usage.peakResidentBytes) / Double(Workbench.mebibyte),
            residentAfterMiB: Double(usage.residentBytes) / Double(Workbench.mebibyte),
            index: usage.cpuNanoseconds(ofThread: Self.indexThread).map { seconds($0 - indexBefore) })
    }
}
