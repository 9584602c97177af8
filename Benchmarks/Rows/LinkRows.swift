/// Seeks of a player, and a play from the beginning, on a slow line between the cache and its
/// origin. Each seek takes 1 or 8 MiB of an open-ended range and leaves.
///
/// The line counts the bytes that enter it, so what is in flight when a request is broken off
/// counts as sent.
struct LinkSeekRow: Row {
    let name = "link-seeks"

    private static let rounds = 10
    private static let seeksARound = 3
    private static let takenMebibytes: Int64 = 1, playedAfterSeekMebibytes: Int64 = 8, playedMebibytes: Int64 = 16
    private static let receiveBufferBytes: Int32 = 64 * 1024
    /// A fetch without readers waits a second for another one, then closes.
    private static let settleMilliseconds: UInt32 = 1200

    private struct Contender {
        let server: any Server
        /// Whether it is asked to seek. The cache of whole responses would fetch each one to its end.
        var seeks = true
    }

    func run(on bench: Workbench) throws -> [Measure] {
        guard let line = try bench.line() else { return [] }
        defer { line.close() }
        let origin = try bench.origin(behind: line)
        defer { origin.stop() }
        var sent = Measure("sent", "times"), time = Measure("time", "ms")
        var sentAfter = Measure("sent-8", "times"), rateAfter = Measure("rate-8", "MiB/s"), rate = Measure("rate", "MiB/s")
        let source = try bench.film(), clip = try bench.sparse(mebibytes: Int(Self.playedMebibytes))
        let contenders = try makeContenders(bench, origin)
        defer { for contender in contenders { contender.server.stop() } }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            var random = SplitMix(seed: UInt64(round))
            let offsets = Workbench.filmRegions.dropFirst().shuffled(using: &random).prefix(Self.seeksARound).map {
                $0.lowerBound + Int64.random(in: 0..<Workbench.mebibyte, using: &random)
            }
            for contender in round % 2 == 0 ? contenders : contenders.reversed() {
                let server = contender.server, film = target(server, source.name + "?n=\(round)")
                if contender.seeks {
                    _ = try ask(server, film, 0..<64 * 1024, source)
                    pause(milliseconds: Self.settleMilliseconds)
                }
                for (index, offset) in offsets.enumerated() where contender.seeks {
                    let mebibytes = index == 0 ? Self.playedAfterSeekMebibytes : Self.takenMebibytes
                    _ = line.takeCarriedBytes()
                    line.forget()
                    let times = try ask(server, film, offset..<source.size, source, taken: mebibytes * Workbench.mebibyte)
                    pause(milliseconds: Self.settleMilliseconds)
                    guard round > 0 else { continue }
                    let carried = Double(line.takeCarriedBytes()) / Double(mebibytes * Workbench.mebibyte)
                    time.add(Double(times.firstByte) / 1e6, of: server.name)
                    if index == 0 {
                        sentAfter.add(carried, of: server.name)
                        rateAfter.add(Double(mebibytes) / (Double(times.complete) / 1e9), of: server.name)
                    } else {
                        sent.add(carried, of: server.name)
                    }
                }
                line.forget()
                let play = try ask(server, target(server, clip.name + "?n=\(round)"), 0..<clip.size, clip)
                pause(milliseconds: Self.settleMilliseconds)
                guard round > 0 else { continue }
                rate.add(Double(Self.playedMebibytes) / (Double(play.complete) / 1e9), of: server.name)
            }
        }
        return [sent, time, sentAfter, rateAfter, rate]
    }

    private func makeContenders(_ bench: Workbench, _ origin: Nginx) throws -> [Contender] {
        let host = SlowLine.farAddress
        let slices = try bench.emptyNginx("nginx-slice", .sliceCache(origin: origin.port, host: host))
        let whole = try bench.emptyNginx("nginx-cache", .wholeCache(origin: origin.port, host: host))
        return try [bench.emptySpool(before: origin)].compactMap { $0.map { Contender(server: $0) } }
            + [Contender(server: slices), Contender(server: whole, seeks: false)]
    }

    private func target(_ server: any Server, _ path: String) -> String { server.target(path, host: SlowLine.farAddress) }

    private func ask(
        _ server: any Server, _ target: String, _ range: Range<Int64>, _ source: SourceFile, taken: Int64? = nil
    ) throws -> ResponseTimes {
        let load = try LoadGenerator(port: server.port, connections: 1, receiveBufferBytes: Self.receiveBufferBytes)
        return try load.run(count: 1, source: source) { _ in
            LoadRequest(target: target, range: range, expected: range, isChecked: true, isOpenEnded: taken != nil, takenBytes: taken)
        }.times[0]
    }
}

/// A player on the same line: a start and three seeks, alone and beside eight preloads and two
/// downloads at the same server.
///
/// The first byte of a seek depends on whether the fetch that the player leaves is still receiving.
/// So the times between the seeks differ, and those of a round are the same alone and beside.
struct LinkPlayerRow: Row {
    let congestion: SlowLine.Congestion
    var name: String { "link-player-\(congestion.rawValue)" }
    let ours = "beside"

    private static let rounds = 10
    private static let preloads = 8, downloads = 2
    private static let preloadBytes = 4 * Workbench.mebibyte
    /// What the player takes before it seeks: two to six seconds of media. It has filled its buffer
    /// and what the cache reads ahead after about four.
    private static let partBytes = 2 * PacedPlay.bytesPerSecond...6 * PacedPlay.bytesPerSecond
    /// A start, and three seeks to bytes that are not stored.
    private static let offsets = [0, 64, 128, 192].map { $0 * Workbench.mebibyte }
    /// The time for which the others run before the player begins.
    private static let leadNanoseconds: UInt64 = 500_000_000
    private static let settleMilliseconds: UInt32 = 1500

    func run(on bench: Workbench) throws -> [Measure] {
        guard let line = try bench.line(congestion) else { return [] }
        defer { line.close() }
        let origin = try bench.origin(behind: line)
        defer { origin.stop() }
        guard let server = try bench.emptySpool(before: origin) else { return [] }
        defer { server.stop() }
        var rate = Measure("rate", "MiB/s"), start = Measure("start", "ms"), seek = Measure("seek", "ms")
        var stalls = Measure("stalls", "ms"), sent = Measure("sent", "times"), others = Measure("others", "MiB/s")
        let source = try bench.clip()
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            var random = SplitMix(seed: UInt64(round))
            let parts = Self.offsets.map { (offset: $0, bytes: Int64.random(in: Self.partBytes, using: &random)) }
            for name in round % 2 == 0 ? ["alone", "beside"] : ["beside", "alone"] {
                let crowd = name == "beside" ? try crowd(server, source, round) : nil
                _ = line.takeCarriedBytes()
                line.forget()
                let begun = nanoseconds()
                let results = try play(parts, server, source, "\(round)-\(name)", crowd)
                let took = crowd?.result.bytes ?? 0, seconds = Double(nanoseconds() - begun) / 1e9
                crowd?.close()
                pause(milliseconds: Self.settleMilliseconds)
                guard round > 0 else { continue }
                let played = Double(parts.reduce(0) { $0 + $1.bytes })
                rate.add(mebibytes(played) / (Double(results.reduce(0) { $0 + $1.elapsed }) / 1e9), of: name)
                start.add(Double(results[0].firstByte) / 1e6, of: name)
                for result in results.dropFirst() { seek.add(Double(result.firstByte) / 1e6, of: name) }
                stalls.add(Double(results.reduce(0) { $0 + $1.stalled }) / 1e6, of: name)
                sent.add(Double(line.takeCarriedBytes()) / (played + Double(took)), of: name)
                if crowd != nil { others.add(mebibytes(Double(took)) / seconds, of: name) }
            }
        }
        return [rate, start, seek, stalls, sent, others]
    }

    private func mebibytes(_ bytes: Double) -> Double { bytes / Double(Workbench.mebibyte) }

    private func play(
        _ parts: [(offset: Int64, bytes: Int64)], _ server: SpoolServe, _ source: SourceFile, _ name: String, _ crowd: Crowd?
    ) throws -> [PacedPlay.Result] {
        try crowd?.begin()
        let begun = nanoseconds()
        while nanoseconds() - begun < Self.leadNanoseconds { try wait(crowd, source) }
        let player = PacedPlay(target: target(server, source, "play=\(name)"), source: source)
        return try parts.map { part in
            try player.part(port: server.port, offset: part.offset, bytes: part.bytes) { try wait(crowd, source) }
        }
    }

    private func target(_ server: SpoolServe, _ source: SourceFile, _ query: String) -> String {
        server.target("\(source.name)?\(query)", host: SlowLine.farAddress)
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
                    target: target(server, source, "other=\(round)-\(index)-\(number)"), range: range, expected: range,
                    isChecked: false, isBackground: true)
            }
        }
        return crowd
    }
}
