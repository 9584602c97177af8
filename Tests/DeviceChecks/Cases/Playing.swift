import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTesting

/// Stalls, queues, and what a play costs.
extension DeviceCase {
    /// Starts a film at 1.5 that runs out of bytes in its middle, and waits for the stall.
    @MainActor private static func stalled(_ bench: Bench, rate: Float = 1.5, _ handling: StallHandling = .controller) async throws
        -> Playback
    {
        let length = try bench.samples.sample(.film).length
        let url = try bench.serve(.film, .stall(afterBytes: length / 2, .correct))
        let play = try bench.open(url)
        play.controller?.stallHandling = handling
        try await play.start(rate: rate)
        try await play.stallsOrEnds()
        return play
    }

    /// Lets the bytes come again.
    @MainActor private static func goOn(_ bench: Bench) {
        bench.behave("/film.mp4", .correct)
        bench.origin.breakConnections()
    }

    static let stalls = [
        DeviceCase("S1", "after a stall the film goes on at its rate where it stopped", decides: ["P1", "P2", "P6"]) { bench in
            let play = try await stalled(bench)
            let stop = play.position
            try await bench.wait(2)
            goOn(bench)
            if play.ends == 0 {
                try await bench.until("the film plays again", within: 5) { play.isPlaying || play.ends > 0 }
                try bench.expect(play.ends > 0 || play.player.rate == 1.5, "the rate is \(play.player.rate)")
                try bench.expect(play.position >= stop - 0.1, "the film jumped back from \(stop) s to \(play.position) s")
                try await play.reachesEnd()
            }
        },
        DeviceCase("S2", "a stall changes the rate for no reason that a pause has", decides: ["P3"]) { bench in
            let play = try await stalled(bench)
            let before = play.reasons
            play.player.pause()
            try await bench.wait(0.5)
            let pause = play.reasons.dropFirst(before.count)
            let requested = AVPlayer.RateDidChangeReason.setRateCalled.rawValue
            try bench.expect(pause.contains(requested), "a pause had the reasons \(Array(pause))")
            // One change is that of the start. The controller's own changes follow the stall.
            bench.numbers["requests before the pause"] = Double(before.filter { $0 == requested }.count)
            guard Bench.isReal, !bench.withSpool else { return }
            try bench.expect(before.filter { $0 == requested }.count <= 1, "the stall had a reason of a pause: \(before)")
        },
        DeviceCase("S3", "during a stall the player waits at its rate, and plays by itself", decides: ["P5"], comparesPlain: false) {
            bench in
            let play = try await stalled(bench)
            try await bench.until("the player waits at 1.5", within: 3) {
                play.player.timeControlStatus == .waitingToPlayAtSpecifiedRate && play.player.rate == 1.5
            }
            goOn(bench)
            try await bench.until("the film plays again", within: 5) { play.isPlaying || play.ends > 0 }
        },
        DeviceCase("S4", "a pause during a stall stays a pause", decides: ["P16"], comparesPlain: false) { bench in
            let play = try await stalled(bench)
            play.player.pause()
            goOn(bench)
            try await bench.wait(3)
            try bench.expect(play.player.rate == 0, "the film plays although it was paused")
            try await play.start()
        },
        DeviceCase("S5", "AVPlayer's own handling of stalls goes on, too", decides: ["P1"], comparesPlain: false) { bench in
            let play = try await stalled(bench, .system)
            let begin = bench.time.now
            goOn(bench)
            try await bench.until("the film plays again", within: 30) { play.isPlaying || play.ends > 0 }
            bench.numbers["AVPlayer goes on after ms"] = Double(bench.time.now - begin) / 1e6
        },
    ]

    static let queues = [
        DeviceCase("Q1", "three items of a queue follow each other", decides: ["P7"]) { bench in
            let items = try (0..<3).map { try bench.item(bench.serve(.wav, as: "/\($0).wav")) }
            let play = try bench.open(items: items)
            try await play.start()
            try await bench.until("three ends") { play.ends == 3 }
        },
        DeviceCase("Q2", "insertions and removals are seen by the controller, whoever makes them", decides: ["P8"], comparesPlain: false) {
            bench in
            let items = try (0..<3).map { try bench.item(bench.serve(.wav, as: "/\($0).wav")) }
            let play = try bench.open(items: Array(items.prefix(2)))
            guard let queue = play.player as? CachingQueuePlayer else { throw CaseEnd.failed("no queue") }
            let seen = Locked<[ObjectIdentifier]>([])
            let stream = queue.playback.currentItems
            let watch = Task { for await item in stream { if let item { seen.withLock { $0.append(item.id) } } } }
            defer { watch.cancel() }
            try await play.start()
            queue.remove(items[1])
            queue.insert(items[2], after: items[0])
            queue.advanceToNextItem()
            try await bench.until("the controller sees the inserted item") { seen.withLock { $0.last } == ObjectIdentifier(items[2]) }
        },
        DeviceCase("Q3", "while an item lacks bytes, the next one takes few", decides: ["P7"], comparesPlain: false) { bench in
            let first = try bench.item(bench.serve(.film, .slow(bytesPerSecond: 100_000)))
            let second = try bench.item(bench.serve(.film, as: "/next.mp4"))
            let play = try bench.open(items: [first, second])
            play.player.play()
            try await bench.wait(3)
            let bytes = bench.requests.filter { $0.request.url.hasSuffix("next.mp4") }.reduce(0) { $0 + $1.handedOverBytes }
            bench.numbers["next item kB"] = Double(bytes) / 1000
            try bench.expect(bytes < 4 << 20, "the next item took \(bytes) bytes")
            bench.behave("/film.mp4", .correct)
            bench.origin.breakConnections()
            try await play.start()
        },
        DeviceCase("Q4", "five skips in a row play the last item") { bench in
            let items = try (0..<6).map { try bench.item(bench.serve(.wav, as: "/\($0).wav")) }
            let play = try bench.open(items: items)
            try await play.start()
            for _ in 0..<5 { (play.player as? AVQueuePlayer)?.advanceToNextItem() }
            try await bench.until("the last item plays") { play.player.currentItem === items[5] && play.isPlaying && play.position > 0 }
        },
        DeviceCase("Q5", "an item that left its queue plays when it is back", decides: ["L18", "P9"]) { bench in
            let items = try (0..<2).map { try bench.item(bench.serve(.film, as: "/\($0).mp4")) }
            let play = try bench.open(items: items)
            guard let queue = play.player as? AVQueuePlayer else { throw CaseEnd.failed("no queue") }
            try await play.start()
            queue.pause()
            queue.remove(items[0])
            // An hour is the assumption. Three minutes are the time of this case.
            try await bench.wait(180)
            queue.insert(items[0], after: items[1])
            queue.advanceToNextItem()
            queue.play()
            try await bench.until("the item plays again") { queue.currentItem === items[0] && play.isPlaying }
        },
        DeviceCase("Q6", "a hundred items that are made and dropped leave nothing", decides: ["L22"], comparesPlain: false) { bench in
            let url = try bench.serve(.film)
            let dropped = Dropped()
            for _ in 0..<100 { dropped.add(try bench.cache.asset(for: url)) }
            try await bench.until("the assets are gone", within: 5) { dropped.count == 0 }
            try await bench.play(url).reaches(0.3)
        },
        DeviceCase("Q7", "a player of one item keeps its last frame, and plays it again", comparesPlain: false) { bench in
            let player = try bench.cache.player(for: bench.serve(.film))
            let play = bench.watch(player, player.playbackController)
            try await play.start()
            try await play.reachesEnd()
            try bench.expect(player.currentItem != nil && !(player is AVQueuePlayer), "the item is gone at the end")
            try await play.seek(0)
            try await play.start()
        },
        DeviceCase("Q8", "a looper plays an item of the cache again and again", decides: ["L23"], comparesPlain: false) { bench in
            let url = try bench.serve(.wav)
            try await bench.cache.preload(url, .whole).result()
            let queue = AVQueuePlayer()
            let play = bench.watch(queue, nil)
            let looper = AVPlayerLooper(player: queue, templateItem: try bench.item(url))
            try await play.start()
            try await bench.until("two loops") { play.ends >= 2 }
            looper.disableLooping()
            let bytes = bench.sentBytes
            try bench.expect(bytes <= (try bench.samples.sample(.wav).length) * 3 / 2, "the origin sent \(bytes) bytes")
        },
        DeviceCase(
            "Q10", "an item that failed is made again at its place", decides: ["P10"],
            scope: .realPlayer("an origin that fails takes the loader's whole patience"), comparesPlain: false
        ) { bench in
            let length = try bench.samples.sample(.film).length
            let play = try await bench.play(bench.serve(.film, .cut(afterBytes: length / 2, .reset, .correct)))
            bench.origin.setOffline(true, breaksTransfers: true)
            try await bench.until("the item fails", within: 150) { play.player.currentItem?.status == .failed || play.ends > 0 }
            let place = play.position
            bench.origin.setOffline(false)
            bench.behave("/film.mp4", .correct)
            play.controller?.play()
            try await bench.until("the new item plays") { play.isPlaying && play.position > 0 }
            try bench.expect(abs(play.position - place) < 1, "it went on at \(play.position) s instead of \(place) s")
        },
        DeviceCase("Q11", "a player that is dropped while it plays is gone", decides: ["L18"], comparesPlain: false) { bench in
            let url = try bench.serve(.film)
            let dropped = Dropped()
            try await { @MainActor in
                let play = try await bench.play(url)
                if let asset = play.asset { dropped.add(asset) }
            }()
            bench.forgetPlays()
            try await bench.until("the asset is gone", within: 2) { dropped.count == 0 }
            try await bench.until("the requests end", within: 5) { bench.origin.openConnectionCount <= 1 }
            try await bench.play(url).reaches(0.2)
        },
    ]

    static let resources = [
        DeviceCase("R1", "a stored film of a high rate plays without a stall", decides: ["L20"], comparesPlain: false) { bench in
            let url = try bench.serve(.lateIndex)
            try await bench.cache.preload(url, .whole).result()
            let play = try await bench.play(url)
            try await play.reachesEnd()
            try bench.expect(play.stalls == 0, "\(play.stalls) stalls")
        },
        DeviceCase("R2", "a paused player stops reading ahead", decides: ["L20", "N1"], comparesPlain: false) { bench in
            let play = try bench.open(bench.serve(.huge))
            try await play.ready()
            play.player.pause()
            try await bench.wait(10)
            bench.numbers["ahead MiB"] = Double(bench.sentBytes) / 1_048_576
            // The windows of a transport, the read-ahead, and what the kernel has.
            try bench.expect(bench.sentBytes < 160 << 20, "the origin sent \(bench.sentBytes) bytes to a paused player")
        },
        DeviceCase("R3", "ten players at once play", decides: ["L20"]) { bench in
            var plays: [Playback] = []
            for number in 0..<10 { plays.append(try bench.open(bench.serve(.wav, as: "/\(number).wav"))) }
            for play in plays { try await play.start() }
            for play in plays { try await play.reachesEnd() }
        },
        DeviceCase(
            "R4", "a paused film without a validator neither fills the memory nor stops other requests", decides: ["N1", "N2"],
            comparesPlain: false
        ) { bench in
            let url = try bench.serve(.huge) { $0.entityTag = nil }
            let other = try bench.serve(.wav)
            let play = try bench.open(url)
            try await play.ready()
            play.player.pause()
            for _ in 0..<10 {
                try await bench.wait(2)
                let begin = bench.time.now
                try await bench.cache.preload(other, .whole).result()
                bench.numbers["other request ms"] = max(bench.numbers["other request ms"] ?? 0, Double(bench.time.now - begin) / 1e6)
                try await bench.cache.remove(other.absoluteString)
            }
            bench.numbers["ahead MiB"] = Double(bench.sentBytes) / 1_048_576
            try bench.expect(bench.sentBytes < 512 << 20, "the origin sent \(bench.sentBytes) bytes to a paused player")
            try bench.expectReal(bench.numbers["other request ms"] ?? 0 < 1000, "another request took more than a second")
        },
        DeviceCase("R5", "a paused transfer goes on with the bytes that are due", decides: ["N3"], comparesPlain: false) { bench in
            let url = try bench.serve(.film, .slow(bytesPerSecond: 300_000)) { $0.entityTag = nil }
            let play = try await bench.play(url)
            play.player.pause()
            try await bench.wait(5)
            try await play.start()
            try await play.reachesEnd()
        },
        DeviceCase("R6", "a whole play takes few requests", comparesPlain: false) { bench in
            let play = try await bench.play(bench.serve(.film))
            try await play.reachesEnd()
            bench.numbers["requests"] = Double(bench.requests.count)
            try bench.expect(bench.requests.count <= 8, "\(bench.requests.count) requests")
            let twice = bench.origin.log.handedOver.values.reduce(0) { $0 + $1.duplicateBytes }
            try bench.expect(twice <= 1 << 18, "\(twice) bytes came twice")
        },
    ]
}

/// Assets that nothing should keep.
@MainActor private final class Dropped {
    private struct Reference { weak var asset: AVURLAsset? }

    private var assets: [Reference] = []

    func add(_ asset: AVURLAsset) { assets.append(Reference(asset: asset)) }

    /// The assets that still exist.
    var count: Int { assets.count { $0.asset != nil } }
}
