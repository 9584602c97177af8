/// Seeks of a player, and a play from the beginning, on a slow line between the cache and its
/// origin. Each seek takes 1 MiB of an open-ended range and leaves.
///
/// The line counts the bytes that enter it, so what is in flight when a request is broken off
/// counts as sent.
struct LinkSeekRow: Row {
    let name = "link-seeks"

    private static let rounds = 10
    private static let seeksARound = 3
    private static let takenBytes = Workbench.mebibyte
    private static let playedBytes = 16 * Workbench.mebibyte
    private static let receiveBufferBytes: Int32 = 64 * 1024
    /// A fetch without readers waits a second for another one, then closes.
    private static let settleMilliseconds: UInt32 = 1200

    private struct Contender {
        let server: any Server
        let link: ShapedLink
        /// Whether it is asked to seek. The cache of whole responses would fetch each one to its end.
        var seeks = true
    }

    func run(on bench: Workbench) throws -> [Measure] {
        var sent = Measure("sent", "times"), rate = Measure("rate", "MiB/s"), time = Measure("time", "ms")
        let source = try bench.film(), clip = try bench.clip()
        let contenders = try makeContenders(bench)
        defer { for contender in contenders { contender.server.stop(); contender.link.close() } }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            var random = SplitMix(seed: UInt64(round))
            let offsets = Workbench.filmRegions.dropFirst().shuffled(using: &random).prefix(Self.seeksARound).map {
                $0.lowerBound + Int64.random(in: 0..<Workbench.mebibyte, using: &random)
            }
            for contender in round % 2 == 0 ? contenders : contenders.reversed() {
                let (server, link) = (contender.server, contender.link)
                let film = server.target(source.name + "?n=\(round)")
                if contender.seeks {
                    _ = try ask(server, film, 0..<64 * 1024, source)
                    pause(milliseconds: Self.settleMilliseconds)
                }
                for offset in contender.seeks ? offsets : [] {
                    _ = link.takeCarriedBytes()
                    let result = try ask(server, film, offset..<source.size, source, taken: Self.takenBytes)
                    pause(milliseconds: Self.settleMilliseconds)
                    guard round > 0 else { continue }
                    sent.add(Double(link.takeCarriedBytes()) / Double(Self.takenBytes), of: server.name)
                    time.add(Double(result.times[0].firstByte) / 1e6, of: server.name)
                }
                let play = try ask(
                    server, server.target(clip.name + "?n=\(round)"), 0..<clip.size, clip, taken: Self.playedBytes)
                pause(milliseconds: Self.settleMilliseconds)
                guard round > 0 else { continue }
                let seconds = Double(play.times[0].complete) / 1e9
                rate.add(Double(Self.playedBytes) / Double(Workbench.mebibyte) / seconds, of: server.name)
            }
        }
        return [sent, time, rate]
    }

    private func makeContenders(_ bench: Workbench) throws -> [Contender] {
        let origin = try bench.origin().port
        var contenders: [Contender] = []
        let ours = try ShapedLink(to: origin)
        if let spool = try bench.emptySpool(origin: ours.port) {
            contenders.append(Contender(server: spool, link: ours))
        } else {
            ours.close()
        }
        let slices = try ShapedLink(to: origin), whole = try ShapedLink(to: origin)
        contenders.append(Contender(server: try bench.emptyNginx("nginx-slice", .sliceCache(origin: slices.port)), link: slices))
        contenders.append(
            Contender(server: try bench.emptyNginx("nginx-cache", .wholeCache(origin: whole.port)), link: whole, seeks: false))
        return contenders
    }

    private func ask(
        _ server: any Server, _ target: String, _ range: Range<Int64>, _ source: SourceFile, taken: Int64? = nil
    ) throws -> LoadResult {
        let load = try LoadGenerator(port: server.port, connections: 1, receiveBufferBytes: Self.receiveBufferBytes)
        return try load.run(count: 1, source: source) { _ in
            LoadRequest(target: target, range: range, expected: range, isChecked: true, isOpenEnded: taken != nil, takenBytes: taken)
        }
    }
}

/// A player on the same line: a start and two seeks, alone and beside eight preloads and two
/// downloads at the same server.
struct LinkPlayerRow: Row {
    let name = "link-player"
    let ours = "beside"

    private static let rounds = 10
    private static let preloads = 8, downloads = 2
    private static let preloadBytes = 4 * Workbench.mebibyte
    /// Four seconds of media.
    private static let partBytes = 4 * PacedPlay.bytesPerSecond
    /// The time for which the others run before the player begins.
    private static let leadMilliseconds: Int32 = 500
    private static let settleMilliseconds: UInt32 = 1500

    func run(on bench: Workbench) throws -> [Measure] {
        var rate = Measure("rate", "MiB/s"), firstByte = Measure("first-byte", "ms"), stalls = Measure("stalls", "ms")
        var others = Measure("others", "MiB")
        let link = try ShapedLink(to: try bench.origin().port)
        defer { link.close() }
        guard let server = try bench.emptySpool(origin: link.port) else { return [] }
        defer { server.stop() }
        let source = try bench.clip()
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            for name in round % 2 == 0 ? ["alone", "beside"] : ["beside", "alone"] {
                let crowd = name == "beside" ? try crowd(server, source, round) : nil
                let results = try play(server, source, "\(round)-\(name)", crowd)
                let took = crowd?.result.bytes ?? 0
                withExtendedLifetime(crowd) {}
                pause(milliseconds: Self.settleMilliseconds)
                guard round > 0 else { continue }
                let seconds = Double(results.reduce(0) { $0 + $1.elapsed }) / 1e9
                rate.add(Double(results.count) * Double(Self.partBytes) / Double(Workbench.mebibyte) / seconds, of: name)
                for result in results { firstByte.add(Double(result.firstByte) / 1e6, of: name) }
                stalls.add(Double(results.reduce(0) { $0 + $1.stalled }) / 1e6, of: name)
                if crowd != nil { others.add(Double(took) / Double(Workbench.mebibyte), of: name) }
            }
        }
        return [rate, firstByte, stalls, others]
    }

    private func play(_ server: SpoolServe, _ source: SourceFile, _ name: String, _ crowd: Crowd?) throws -> [PacedPlay.Result] {
        try crowd?.begin()
        for _ in 0..<Self.leadMilliseconds { try wait(crowd, source) }
        let player = PacedPlay(target: server.target(source.name + "?play=\(name)"), source: source)
        // A start, and two seeks to bytes that are not stored.
        return try [0, 96 * Workbench.mebibyte, 176 * Workbench.mebibyte].map { offset in
            try player.part(port: server.port, offset: offset, bytes: Self.partBytes) { try wait(crowd, source) }
        }
    }

    /// Lets a millisecond pass, in which the others read.
    private func wait(_ crowd: Crowd?, _ source: SourceFile) throws {
        guard let crowd else { return pause(milliseconds: 1) }
        try crowd.turn(milliseconds: 1, source)
    }

    /// Preloads, each followed by the next one, and downloads of whole resources.
    private func crowd(_ server: SpoolServe, _ source: SourceFile, _ round: Int) throws -> Crowd {
        let crowd = try Crowd()
        for index in 0..<Self.preloads + Self.downloads {
            let isPreload = index < Self.preloads
            let range = 0..<(isPreload ? Self.preloadBytes : source.size)
            try crowd.add(.fast, port: server.port) { number in
                LoadRequest(
                    target: server.target(source.name + "?other=\(round)-\(index)-\(number)"), range: range, expected: range,
                    isChecked: false, isBackground: true)
            }
        }
        return crowd
    }
}
