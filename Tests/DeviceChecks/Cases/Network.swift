import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting

/// Origins and playlists.
extension DeviceCase {
    /// A film from an origin with a habit has the same outcome as without Spool.
    private static func habit(
        _ id: String, _ words: String, decides assumptions: [String] = [], _ behaviour: OriginBehaviour,
        change: @escaping @Sendable (inout VirtualResource) -> Void = { _ in }
    ) -> DeviceCase {
        DeviceCase(id, words, decides: assumptions) { bench in
            let play = try bench.open(bench.serve(.film, behaviour, change: change))
            bench.outcomes["the film"] = try await play.outcome()
            guard bench.outcomes["the film"] == "plays" else { return }
            try await play.seek(0.6)
            try await play.reachesEnd()
        }
    }

    static let origins = [
        DeviceCase("O1", "a connection that breaks every 100 kB, and a 503, do not stop the film", decides: ["N9", "N14", "L17"]) { bench in
            let url = try bench.serve(.film)
            let count = Locked(0)
            bench.answer { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return number == 2 ? .status(503, fields: ["Retry-After": "1"]) : .cut(afterBytes: 100_000, .reset, .correct)
            }
            let play = try bench.open(url)
            bench.outcomes["the film"] = Bench.isReal && !bench.withSpool ? "plays" : try await play.outcome()
            if bench.withSpool { try await play.reachesEnd() }
        },
        habit("O2", "an origin that ignores ranges plays and seeks", decides: ["N8"], .ignoresRange),
        habit("O3", "an origin that announces no ranges plays and seeks", decides: ["L11"], .correct) { $0.supportsRanges = false },
        DeviceCase("O4", "a version that changes in mid-play is never mixed with the other", comparesPlain: false) { bench in
            let url = try bench.serve(.wav, .slow(bytesPerSecond: 200_000))
            let play = try await bench.play(url)
            let sample = try bench.samples.sample(.wav)
            var other = VirtualResource(url: url.absoluteString, seed: 77, length: sample.length, contentType: "audio/wav")
            other.entityTag = "\"other\""
            bench.origin.serve(other)
            bench.origin.breakConnections()
            try await bench.until("an end or an error") { play.ends > 0 || play.failure != nil }
            // A wrong byte fails the case by the double's journal, and a real player by its noise.
        },
        DeviceCase("O5", "a redirect to another path plays, and keeps the fields", decides: ["N7"]) { bench in
            _ = try bench.serve(.film, as: "/moved/film.mp4")
            let play = try await bench.play(bench.serve(.film, .redirect(to: "/moved/film.mp4")), headers: ["X-Ticket": "1"])
            try await play.reachesEnd()
            guard bench.withSpool else { return }
            let moved = bench.requests.filter { $0.request.url.hasSuffix("moved/film.mp4") }
            try bench.expect(!moved.isEmpty && moved.allSatisfy { $0.request.fields["X-Ticket"] == "1" }, "a field is lost")
        },
        DeviceCase("O6", "fields of the asset arrive at the origin", decides: ["N6"], comparesPlain: false) { bench in
            let fields = ["Authorization": "Bearer 1", "Cookie": "a=b", "X-Ticket": "1", "User-Agent": "Check/1"]
            let play = try await bench.play(bench.serve(.film), headers: fields)
            try await play.reaches(0.3)
            for (name, value) in fields {
                let missing = bench.requests.contains { $0.request.fields[HTTPFields.Name(name)] != value }
                try bench.expect(!missing, "a request has no \(name)")
            }
            try bench.expect(bench.requests.contains { $0.range != nil }, "no request has a range")
        },
        DeviceCase("O7", "odd characters of a URL arrive as a plain player sends them", decides: ["N15"]) { bench in
            for (number, path) in ["/a%20b.mp4", "/a%2Fb.mp4", "/a+b.mp4", "/%F0%9F%8E%B5.mp4"].enumerated() {
                let url = try bench.serve(.film, as: path)
                bench.answer { _ in nil }
                let play = try bench.open(url)
                bench.outcomes["\(number)"] = try await play.outcome()
                if bench.withSpool || Bench.isReal {
                    try bench.expect(bench.requests.contains { $0.request.url.hasSuffix(path) }, "no request for \(path)")
                }
                play.stop()
            }
        },
        DeviceCase("O8", "a film that names a coding has the same outcome", decides: ["N4", "N5"]) { bench in
            let url = try bench.serve(.film) { $0.fields = ["Content-Encoding": "identity"] }
            let play = try bench.open(url)
            bench.outcomes["the film"] = try await play.outcome()
            guard bench.withSpool else { return }
            try bench.expect(bench.requests.allSatisfy { $0.request.fields["Accept-Encoding"] == "identity" }, "a request allows a coding")
        },
        habit("O9", "a film with a chatty origin plays", .informational(103, count: 2, .correct)),
        DeviceCase("V7", "a refused network stops a download, and a permitted one lets it go on", decides: ["N13"], comparesPlain: false) {
            bench in
            let network = HandNetwork()
            bench.configuration.network.monitor = network
            bench.configuration.network.policy.downloads.allowsExpensive = false
            let url = try bench.serve(.film, .slow(bytesPerSecond: 400_000))
            let cache = try bench.cache
            try await cache.downloads.start()
            try await cache.downloads.add(url.absoluteString)
            try await bench.until("the download began") { bench.sentBytes > 0 }
            network.report(isExpensive: true)
            try await bench.until("the requests end", within: 5) { bench.requests.allSatisfy { $0.isOver } }
            network.report(isExpensive: false)
            for await list in cache.downloads.updates where list.allSatisfy({ $0.state == .complete }) { break }
            let twice = bench.origin.log.handedOver.values.reduce(0) { $0 + $1.duplicateBytes }
            try bench.expect(twice <= 1 << 18, "\(twice) bytes came twice")
            try await bench.play(url).reaches(0.3)
        },
    ]

    /// Opens a stream with Spool, and requires the loopback endpoint.
    @MainActor private static func streamed(_ bench: Bench, _ url: URL) async throws -> Playback {
        let play = try await bench.play(url)
        if bench.withSpool { try bench.expect(play.asset?.route == .loopback, "the route is \(String(describing: play.asset?.route))") }
        return play
    }

    /// Reads the playlist at the endpoint, and each segment, as a player does. The double's player
    /// reads none of them.
    @MainActor private static func read(_ bench: Bench, _ play: Playback) throws {
        guard bench.withSpool, let url = play.asset?.url else { return }
        try bench.expect(try get(url).contains("#EXTM3U"), "no playlist at the endpoint")
        for segment in bench.samples.segments {
            let place = url.deletingLastPathComponent().appendingPathComponent(segment.name)
            try bench.expect(try get(place).hasPrefix("HTTP/1.1 200"), "no \(segment.name) at the endpoint")
        }
    }

    @MainActor private static func get(_ url: URL) throws -> String {
        let (host, port) = (url.host ?? "", UInt16(url.port ?? 0))
        return try LoopbackHTTPClient.perform(
            "GET \(url.path) HTTP/1.1\r\nHost: \(host):\(port)\r\nConnection: close\r\n\r\n", host: host, port: port)
    }

    /// A stream plays by a host of the loopback.
    private static func host(_ id: String, _ host: String, _ words: String, decides assumptions: [String]) -> DeviceCase {
        DeviceCase(id, words, decides: assumptions, comparesPlain: false) { bench in
            let url = try bench.serveStream()
            var factory = CachingAssetFactory(cache: try bench.cache)
            factory.loopback.host = host
            factory.loopback.permitsAddresses = true
            factory.loopback.check = { _, _, report in report(true) }
            let play = try bench.open(items: [factory.playerItem(for: url)])
            try bench.expect(play.asset?.route == .loopback, "the route is \(String(describing: play.asset?.route))")
            try read(bench, play)
            try await play.start()
            bench.numbers["plays 0 or 1"] = 1
        }
    }

    static let playlists = [
        DeviceCase("H1", "a stream plays by the way that Spool chooses", decides: ["S1", "S2"]) { bench in
            let play = try await streamed(bench, bench.serveStream())
            try read(bench, play)
            try await play.reaches(0.4)
        },
        host("H2", "localhost", "a stream plays by the name localhost", decides: ["S2", "N12"]),
        host("H3", "127.0.0.1", "a stream plays by the address of the loopback", decides: ["S2"]),
        DeviceCase("H4", "a stream plays again without a request", comparesPlain: false) { bench in
            let url = try bench.serveStream()
            let play = try await streamed(bench, url)
            try read(bench, play)
            let count = bench.requests.count { $0.request.url.hasSuffix("m4s") }
            try read(bench, play)
            try bench.expect(bench.requests.count { $0.request.url.hasSuffix("m4s") } == count, "a segment was fetched again")
        },
        DeviceCase("H5", "a stream with fields has them at each request", decides: ["N6"], comparesPlain: false) { bench in
            let url = try bench.serveStream()
            let play = try await bench.play(url, headers: ["X-Ticket": "1"])
            try read(bench, play)
            try bench.expect(bench.requests.allSatisfy { $0.request.fields["X-Ticket"] == "1" }, "a request has no field")
        },
        DeviceCase("H6", "a stored stream plays without its origin", comparesPlain: false) { bench in
            let url = try bench.serveStream()
            try read(bench, try await streamed(bench, url))
            bench.origin.setOffline(true, breaksTransfers: true)
            try read(bench, try await streamed(bench, url))
        },
        DeviceCase("H7", "a listener that was closed listens again at its port", decides: ["S3", "S4"], comparesPlain: false) { bench in
            let url = try bench.serveStream()
            let play = try await streamed(bench, url)
            try bench.cache.loopback?.appReturned()
            try read(bench, play)
        },
        DeviceCase("H8", "a live playlist is asked again at each load", comparesPlain: false) { bench in
            let url = try bench.serveStream(text: bench.samples.playlist(isLive: true))
            let play = try await streamed(bench, url)
            try read(bench, play)
            let count = bench.requests.count { $0.request.url.hasSuffix("m3u8") }
            try await bench.wait(4)
            try read(bench, play)
            try bench.expect(bench.requests.count { $0.request.url.hasSuffix("m3u8") } > count, "the list is an old one")
        },
        DeviceCase(
            "H9", "a stream whose low variant is stored stalls no more than a plain one, and tries no higher ones", decides: ["P19"],
            scope: .realPlayer("the double chooses no variants")
        ) { bench in
            // The line carries the first two variants.
            let rates = [800_000, 2_400_000, 6_000_000]
            let variants = rates.map { "#EXT-X-STREAM-INF:BANDWIDTH=\($0)\n\($0)/list.m3u8" }
            for rate in rates { _ = try bench.serveStream(as: "/hls/\(rate)/list.m3u8", bitRate: rate) }
            let url = try bench.serveStream(text: (["#EXTM3U"] + variants).joined(separator: "\n") + "\n")
            if bench.withSpool { try await bench.play(bench.url("/hls/800000/list.m3u8")).reachesEnd() }
            bench.answer { _ in .slow(bytesPerSecond: 375_000) }
            let first = bench.requests.count
            let play = try await streamed(bench, url)
            try await play.reachesEnd()
            let asked = bench.requests.dropFirst(first).map(\.request.url).filter { $0.hasSuffix("m4s") }
            // The low variant needs no request.
            bench.numbers["variants fetched"] = Double(Set(asked.map { $0.split(separator: "/").dropLast().last }).count)
            bench.numbers["stalls"] = Double(play.stalls)
            bench.excess = ["variants fetched": 0, "stalls": 0]
        },
    ]
}

/// A network that the case changes.
private final class HandNetwork: NetworkMonitor {
    private let reporter = Locked<(@Sendable (NetworkConditions) -> Void)?>(nil)

    func start(_ report: @escaping @Sendable (NetworkConditions) -> Void) {
        reporter.withLock { $0 = report }
        report(NetworkConditions())
    }

    func stop() { reporter.withLock { $0 = nil } }

    func report(isExpensive: Bool) {
        var conditions = NetworkConditions()
        conditions.isExpensive = isExpensive
        reporter.withLock { $0 }?(conditions)
    }
}
