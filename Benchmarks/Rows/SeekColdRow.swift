/// A seek of a player: an open-ended range at an offset without stored bytes, with an open
/// connection to the origin. The player reads 1 MiB and leaves.
///
/// The fetched bytes are counted later, when all work that the seek caused has ended.
struct SeekColdRow: Row {
    let name = "seek-cold"

    private static let rounds = 10
    private static let seeksARound = 5
    /// The number of bytes that the player reads before it leaves.
    private static let takenBytes = Workbench.mebibyte
    /// The number of bytes that a fetch of Spool may be ahead of its reader
    /// (`Configuration.readAheadBytes`).
    private static let windowBytes = 4 * Workbench.mebibyte
    /// What the origin may send, in MiB: the window that the player takes, the next one, and half a
    /// MiB.
    private static let sentBound = 2.5
    /// The kernel buffers of player and server count as read. They are so small that they do not
    /// hide the window.
    private static let receiveBufferBytes: Int32 = 64 * 1024
    /// A fetch without readers waits a second for another one, then closes.
    private static let settleMilliseconds: UInt32 = 1200
    /// The time between the request that opens a connection to the origin and the seek. The
    /// request's own work is over by then.
    private static let warmUpMilliseconds: UInt32 = 20

    /// A program, and the counter of its fetches.
    private struct Contender {
        let server: any Server
        let origin: Nginx

        /// Returns the body bytes that the program fetched since the last call. For Spool it is the
        /// program's own count, because the origin's count includes bytes of a broken response in
        /// the kernel's buffers. The peer breaks none off.
        var fetched: (_ sent: Int64) throws -> Int64
    }

    func run(on bench: Workbench) throws -> [Measure] {
        let bound = Double(Self.takenBytes + Self.windowBytes) / Double(Workbench.mebibyte)
        var time = Measure("time", "µs"), fetched = Measure("fetched", "MiB", bound: bound)
        var sent = Measure("sent", "MiB", bound: Self.sentBound)
        let source = try bench.film(), note = try bench.note()
        let contenders = try makeContenders(bench)
        defer { for contender in contenders { contender.server.stop(); contender.origin.stop() } }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            var random = SplitMix(seed: UInt64(round))
            let regions = Workbench.filmRegions.dropFirst().shuffled(using: &random)
            // A new name, of which only the head is stored, because every player reads the head
            // before it seeks.
            let film = source.name + "?n=\(round)"
            for contender in contenders { try read(contender.server, film, 0..<64 * 1024, source) }
            pause(milliseconds: Self.settleMilliseconds)
            for (index, region) in regions.prefix(Self.seeksARound).enumerated() {
                let offset = region.lowerBound + Int64.random(in: 0..<Workbench.mebibyte, using: &random)
                var times: [UInt64] = []
                let turn = index % 2 == 0 ? contenders : contenders.reversed()
                for contender in turn {
                    // Opens a connection to the origin, or uses the open one.
                    try read(contender.server, note.name + "?n=\(round)-\(index)", 0..<note.size, note)
                    pause(milliseconds: Self.warmUpMilliseconds)
                    let before = try contender.origin.takeSentBytes()
                    _ = try contender.fetched(before)
                    times.append(try seek(contender.server, film, offset, source))
                }
                pause(milliseconds: Self.settleMilliseconds)
                for (contender, nanoseconds) in zip(turn, times) {
                    let bytes = try contender.origin.takeSentBytes(), own = try contender.fetched(bytes)
                    guard round > 0 else { continue }
                    time.add(Double(nanoseconds) / 1000, of: contender.server.name)
                    fetched.add(Double(own) / Double(Workbench.mebibyte), of: contender.server.name)
                    sent.add(Double(bytes) / Double(Workbench.mebibyte), of: contender.server.name)
                }
            }
        }
        return [time, fetched, sent]
    }

    private func makeContenders(_ bench: Workbench) throws -> [Contender] {
        var contenders: [Contender] = []
        let ourOrigin = try bench.countedOrigin(), itsOrigin = try bench.countedOrigin()
        if let spool = try bench.emptySpool(before: ourOrigin) {
            var last: Int64 = 0
            contenders.append(
                Contender(server: spool, origin: ourOrigin) { _ in
                    let now = try spool.fetchedBytes()
                    defer { last = now }
                    return now - last
                })
        }
        let nginx = try bench.emptyNginx("nginx-slice", .sliceCache(origin: itsOrigin.port))
        contenders.append(Contender(server: nginx, origin: itsOrigin) { $0 })
        return contenders
    }

    private func read(_ server: any Server, _ path: String, _ range: Range<Int64>, _ source: SourceFile) throws {
        let load = try LoadGenerator(port: server.port, connections: 1)
        _ = try load.run(count: 1, source: source) { _ in
            LoadRequest(target: server.target(path), range: range, expected: range, isChecked: true)
        }
    }

    /// Returns the nanoseconds to the first byte.
    private func seek(_ server: any Server, _ path: String, _ offset: Int64, _ source: SourceFile) throws -> UInt64 {
        let load = try LoadGenerator(port: server.port, connections: 1, receiveBufferBytes: Self.receiveBufferBytes)
        let range = offset..<source.size
        let result = try load.run(count: 1, source: source) { _ in
            LoadRequest(
                target: server.target(path), range: range, expected: range, isChecked: true, isOpenEnded: true, takenBytes: Self.takenBytes)
        }
        return result.times[0].firstByte
    }
}
