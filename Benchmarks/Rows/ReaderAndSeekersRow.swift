/// One client reads an unstored resource of 256 MiB from its beginning to its end, and eight others
/// seek in it at the same time. Each of them reads 1 MiB of an open-ended range and leaves.
///
/// Every byte is needed by the reader, so a cache that wastes none has the origin send the size of
/// the resource. The origin's log counts what it sent, which for a response that was broken off
/// includes the bytes in the kernel's buffers.
struct ReaderAndSeekersRow: Row {
    let name = "reader-and-seekers"

    private static let rounds = 10
    private static let seeks = 8
    private static let takenBytes = Workbench.mebibyte
    private static let receiveBufferBytes: Int32 = 64 * 1024
    /// A fetch without readers waits a second for another one, then closes.
    private static let settleMilliseconds: UInt32 = 1200

    func run(on bench: Workbench) throws -> [Measure] {
        var sent = Measure("sent", "times"), wall = Measure("wall", "s")
        let source = try bench.clip()
        let contenders = try makeContenders(bench)
        defer { for (server, origin) in contenders { server.stop(); origin.stop() } }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let path = source.name + "?n=\(round)"
            for (server, origin) in round % 2 == 0 ? contenders : contenders.reversed() {
                // Every player reads the head first.
                let head = try LoadGenerator(port: server.port, connections: 1)
                _ = try head.run(count: 1, source: source) { _ in
                    LoadRequest(target: server.target(path), range: 0..<64 * 1024, expected: 0..<64 * 1024, isChecked: true)
                }
                pause(milliseconds: Self.settleMilliseconds)
                let result = try play(server, path, source, round: round)
                pause(milliseconds: Self.settleMilliseconds)
                let bytes = try origin.takeSentBytes()
                guard round > 0 else { continue }
                sent.add(Double(bytes) / Double(source.size), of: server.name)
                wall.add(Double(result.wallNanoseconds) / 1e9, of: server.name)
            }
        }
        return [sent, wall]
    }

    private func makeContenders(_ bench: Workbench) throws -> [(server: any Server, origin: Nginx)] {
        let ourOrigin = try bench.countedOrigin(), itsOrigin = try bench.countedOrigin()
        let nginx = try bench.emptyNginx("nginx-slice", .sliceCache(origin: itsOrigin.port))
        guard let spool = try bench.emptySpool(before: ourOrigin) else { return [(nginx, itsOrigin)] }
        return [(spool, ourOrigin), (nginx, itsOrigin)]
    }

    private func play(_ server: any Server, _ path: String, _ source: SourceFile, round: Int) throws -> LoadResult {
        var random = SplitMix(seed: UInt64(round))
        let load = try LoadGenerator(port: server.port, connections: 1 + Self.seeks, receiveBufferBytes: Self.receiveBufferBytes)
        return try load.run(count: 1 + Self.seeks, source: source) { index in
            let whole = 0..<source.size, target = server.target(path)
            guard index > 0 else { return LoadRequest(target: target, range: nil, expected: whole, isChecked: round == 0) }
            let range = Int64.random(in: 0..<source.size - 4 * Self.takenBytes, using: &random)..<source.size
            return LoadRequest(
                target: target, range: range, expected: range, isChecked: true, isOpenEnded: true, takenBytes: Self.takenBytes)
        }
    }
}
