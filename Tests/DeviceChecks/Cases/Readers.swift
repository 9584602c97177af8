import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolBackground
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
#if canImport(Combine)
import Combine
#endif

/// Other readers than a player, troubles of the app's own, and Combine.
extension DeviceCase {
    static let readers = [
        DeviceCase(
            "X1", "an image generator shows the right frames of a film", decides: ["L26"], scope: .realPlayer("the double has no pictures")
        ) { bench in
            #if !os(Linux)
            guard let asset = try bench.item(bench.serve(.film)).asset as? AVURLAsset else { return }
            for second in [1, 3, 5] { try await MediaReader.expectPicture(of: asset, at: Double(second), bench) }
            #endif
        },
        DeviceCase(
            "X2", "an export of a film has its length", decides: ["L26"], scope: .realPlayer("the double has no exports")
        ) { bench in
            #if !os(Linux)
            try await MediaReader.export(bench.item(bench.serve(.film)).asset, bench)
            #endif
        },
        DeviceCase(
            "X3", "a composition of two films plays when their assets are released", decides: ["L26", "P20"],
            scope: .realPlayer("the double has no compositions")
        ) { bench in
            #if !os(Linux)
            let item = try await MediaReader.composition([bench.item(bench.serve(.film)).asset, bench.item(bench.serve(.fragments)).asset])
            let play = try bench.open(items: [item])
            try await play.start()
            try await play.reachesEnd()
            #endif
        },
        DeviceCase("X4", "a reader of samples refuses an asset that is no file", decides: ["L26"], comparesPlain: false) { bench in
            let asset = try bench.cache.asset(for: bench.serve(.film))
            try await bench.play(bench.serve(.film)).reaches(0.2)
            do {
                _ = try AVAssetReader(asset: asset)
            } catch {
                return
            }
            throw CaseEnd.failed("AVAssetReader took an asset of a custom scheme")
        },
        DeviceCase("X5", "media in memory plays to its end", comparesPlain: false) { bench in
            let sample = try bench.samples.sample(.wav)
            let data = Data(sample.content.bytes(at: 0, count: Int(sample.length)))
            // The double finds the sample of an item by its URL.
            let play = try bench.open(bench.serve(.wav))
            try await play.start()
            try await play.reachesEnd()
            guard Bench.isReal else { return }
            let memory = try bench.open(items: [bench.cache.playerItem(data: data, mimeType: "audio/wav")])
            try await memory.start()
            try await memory.reachesEnd()
        },
        DeviceCase("X6", "an encrypted store plays to the end, twice", comparesPlain: false) { bench in
            guard let key = EncryptionKey(bytes: [UInt8](repeating: 7, count: 32)) else { throw CaseEnd.failed("no key of 32 bytes") }
            bench.configuration.security.encryption = EncryptionOptions(keyProvider: RawKeyProvider(key))
            let url = try bench.serve(.film)
            let play = try await bench.play(url)
            try await play.reachesEnd()
            let count = bench.requests.count
            let again = try await bench.play(url)
            try await again.reachesEnd()
            try bench.expect(bench.requests.count == count, "the second play asked the origin")
        },
        DeviceCase("X7", "the store's own file plays, and stays while it plays", comparesPlain: false) { bench in
            let url = try bench.serve(.wav)
            try await bench.cache.preload(url, .whole).result()
            let asset = try await bench.cache.preparedAsset(for: url)
            try bench.expect(asset.route == .file, "the route is \(asset.route)")
            let play = try bench.open(items: [AVPlayerItem(asset: asset)])
            try await play.start()
            try await bench.cache.remove(url.absoluteString)
            try await play.reachesEnd()
        },
    ]

    static let faults = [
        DeviceCase("F1", "a film that is larger than the quota plays", decides: ["S9"], comparesPlain: false) { bench in
            bench.configuration.limits.quotaBytes = 400_000
            let play = try await bench.play(bench.serve(.film))
            try await play.reachesEnd()
        },
        DeviceCase("F2", "a film plays on when its store's directory is deleted", decides: ["S12"], comparesPlain: false) { bench in
            let play = try await bench.play(bench.serve(.film, .slow(bytesPerSecond: 500_000)))
            try FileManager.default.removeItem(at: URL(fileURLWithPath: bench.configuration.storage.directory ?? "", isDirectory: true))
            bench.outcomes["after that"] = try await play.outcome()
            try await play.reachesEnd()
        },
        DeviceCase("F3", "the next launch goes on with the bytes of the one before", decides: ["S10", "S13"], comparesPlain: false) {
            bench in
            let url = try bench.serve(.wav)
            let play = try await bench.play(url)
            try await play.reaches(0.4)
            bench.forgetPlays()
            await bench.reopen()
            let again = try await bench.play(url)
            try await again.reachesEnd()
            let twice = bench.origin.log.handedOver.values.reduce(0) { $0 + $1.duplicateBytes }
            // The last piece of each fetch may not have reached the store.
            try bench.expect(twice <= 1 << 19, "\(twice) bytes came twice")
        },
        DeviceCase("F4", "the loader serves while the main thread is busy", decides: ["L9", "L21", "P4"], comparesPlain: false) { bench in
            let play = try await bench.play(bench.serve(.film, .slow(bytesPerSecond: 2_000_000)))
            let before = bench.sentBytes
            let end = bench.time.now + Nanoseconds(Bench.isReal ? 3e9 : 1e8)
            while bench.time.now < end {}
            bench.numbers["bytes in the block kB"] = Double(bench.sentBytes - before) / 1000
            try await play.reachesEnd()
        },
        DeviceCase("F5", "a bypass leaves the item that plays alone, and the next one plays its original", comparesPlain: false) { bench in
            let (url, cache) = (try bench.serve(.film, .slow(bytesPerSecond: 500_000)), try bench.cache)
            let play = try await bench.play(url)
            cache.isBypassed = true
            try await play.reachesEnd()
            let plain = try await bench.play(url)
            try bench.expect(plain.asset?.route == .original(.bypassed), "the next asset is \(String(describing: plain.asset?.route))")
            try await plain.reachesEnd()
            cache.isBypassed = false
            let again = try await bench.play(url)
            try bench.expect(again.asset?.route == .cache, "the last asset is \(String(describing: again.asset?.route))")
            try await again.reachesEnd()
        },
        DeviceCase(
            "B1", "a download goes on in a background session, with its label", decides: ["S13", "S14"],
            scope: .realPlayer("only an app with an identifier has such a session"), comparesPlain: false
        ) { bench in
            #if !os(Linux)
            guard Bundle.main.bundleIdentifier != nil else { throw CaseEnd.skipped("this program is no app") }
            let url = try bench.serve(.film)
            let background = BackgroundDownloads(cache: try bench.cache, identifier: "spool-check-" + UUID().uuidString)
            let downloads = try bench.cache.downloads
            try await downloads.start()
            try await downloads.add(url.absoluteString)
            for await list in downloads.updates where list.allSatisfy({ $0.state == .complete }) { break }
            withExtendedLifetime(background) {}
            try await bench.play(url).reaches(0.3)
            #endif
        },
    ]

    /// Each publisher gives a value while a film plays.
    static let publishers = [
        ("C1", "CachingAVURLAsset.progressPublisher"), ("C2", "PlaybackController.statePublisher"),
        ("C3", "PlaybackController.currentItemPublisher"), ("C4", "Downloads.updatePublisher"),
        ("C5", "Preload.progressPublisher"), ("C6", "CacheObservation.eventPublisher"),
        ("C7", "CacheObservation.statisticsPublisher(every:)"), ("C8", "PlaybackController.objectWillChange"),
    ].map { id, name in
        DeviceCase(id, "\(name) gives a value", scope: .realPlayer("Linux has no Combine"), comparesPlain: false) { bench in
            #if canImport(Combine)
            let play = try await bench.play(bench.serve(.film))
            let count = Locked(0)
            let kept = try subscription(id, bench, play) { count.withLock { $0 += 1 } }
            try await bench.until("a value of \(name)", within: 5) { count.withLock { $0 } > 0 }
            withExtendedLifetime(kept) {}
            #endif
        }
    }

    #if canImport(Combine)
    /// Subscribes to a publisher, and returns what has to live as long.
    @MainActor private static func subscription(
        _ id: String, _ bench: Bench, _ play: Playback, _ seen: @escaping @Sendable () -> Void
    ) throws -> [Any] {
        let (cache, other) = (try bench.cache, try bench.serve(.lateIndex))
        switch id {
        case "C1": return [play.asset?.progressPublisher.sink { _ in seen() } as Any]
        case "C2": return [play.controller?.statePublisher.sink { _ in seen() } as Any]
        case "C3": return [play.controller?.currentItemPublisher.sink { _ in seen() } as Any]
        case "C4": return [cache.downloads.updatePublisher.sink { _ in seen() }]
        case "C5":
            let preload = try cache.preload(other, .bytes(100_000))
            return [preload, preload.progressPublisher.sink { _ in seen() }]
        case "C6": return [cache.observation.eventPublisher.sink { _ in seen() }, try cache.preload(other, .whole)]
        case "C7": return [cache.observation.statisticsPublisher(every: .milliseconds(100)).sink { _ in seen() }]
        default:
            let kept = play.controller?.objectWillChange.sink { _ in seen() }
            play.player.pause()
            return [kept as Any]
        }
    }
    #endif
}
