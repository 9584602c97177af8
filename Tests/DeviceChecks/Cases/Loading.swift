import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTesting

/// How a resource loader and a player work together.
extension DeviceCase {
    static let loading = [
        DeviceCase("E1", "a film plays, and its frames come in order", decides: ["L1", "L2", "L3", "L4", "L21"]) { bench in
            let play = try await bench.play(bench.serve(.film))
            for part in [0.2, 0.4, 0.6, 0.8] { try await play.reaches(part) }
            if bench.withSpool { try bench.expect(play.asset?.route == .cache, "the route is \(String(describing: play.asset?.route))") }
            try bench.expectReal(bench.numbers[Bench.start] ?? 0 < 1500, "the start took more than 1.5 s")
        },
        DeviceCase("E2", "a film with its index at the end starts without the bytes between", decides: ["L2"]) { bench in
            let play = try bench.open(bench.serve(.lateIndex, .slow(bytesPerSecond: 400_000)))
            try await play.ready()
            bench.numbers["sent when ready kB"] = Double(bench.sentBytes) / 1000
            try await play.start()
            try await play.reaches(0.3)
        },
        DeviceCase("E3", "each of ten seeks shows its frame", decides: ["L2"]) { bench in
            let play = try await bench.play(bench.serve(.film))
            for part in [0.5, 0.1, 0.7, 0.3, 0.6, 0.0, 0.8, 0.2, 0.4, 0.75] { try await play.seek(part) }
            try bench.expectReal(bench.numbers["longest seek ms"] ?? 0 < 1000, "a seek took more than a second")
        },
        DeviceCase("E4", "fifty seeks in a row end at the last one, and leave few requests open", decides: ["L19"]) { bench in
            let play = try await bench.play(bench.serve(.film))
            for number in 0..<50 {
                let target = Double(number * 7 % 40) / 50 * play.length
                play.player.seek(to: CMTime(seconds: target, preferredTimescale: 600))
            }
            try await play.seek(0.6)
            try await bench.until("at most four connections", within: 5) { bench.origin.openConnectionCount <= 4 }
        },
        DeviceCase("E5", "a seek to the last frames leads to one end") { bench in
            let play = try await bench.play(bench.serve(.film))
            try await play.seek(0.95)
            try await play.reachesEnd()
        },
        DeviceCase("E6", "each container plays with its type, with none and with a vague one", decides: ["L5", "L6", "L7", "L8"]) { bench in
            for kind in [Sample.Kind.film, .wav, .caf, .aiff] {
                for (name, type) in [("its own", kind.contentType as String?), ("octets", "application/octet-stream"), ("none", nil)] {
                    let url = try bench.serve(kind, as: "/\(name.count)/\(kind.rawValue)", type: type)
                    let play = try bench.open(url)
                    bench.outcomes["\(kind.rawValue) with \(name)"] = try await play.outcome()
                    play.stop()
                }
            }
        },
        DeviceCase(
            "E7", "a body without length plays by a redirect, and from the store after that", decides: ["L13", "L14"],
            scope: .realPlayer("the double plays a redirected item without loading it")
        ) { bench in
            let url = try bench.serve(.film, .unknownLength(.chunked, .correct))
            bench.outcomes["first play"] = try await bench.open(url).outcome()
            guard bench.withSpool, bench.outcomes["first play"] == "plays" else { return }
            try await bench.plays.first?.reachesEnd()
            let status = try await bench.cache.status(of: url.absoluteString)
            try bench.expect(status?.isComplete == true, "the body is not stored as a whole")
            let count = bench.requests.count
            let again = try await bench.play(url)
            try bench.expect(again.asset?.route == .cache && bench.requests.count == count, "the second play asked the origin")
        },
        DeviceCase(
            "E7b", "the fields of an asset are sent after a redirect, too", decides: ["L15"],
            scope: .realPlayer("the double plays a redirected item without loading it")
        ) { bench in
            let url = try bench.serve(.film, .unknownLength(.chunked, .correct))
            bench.answer { $0.fields["X-Ticket"] == "1" ? nil : .status(401) }
            bench.outcomes["with a field"] = try await bench.open(url, headers: ["X-Ticket": "1"]).outcome()
        },
        DeviceCase(
            "E8", "an item that cannot play fails as a plain one does, and its asset loads isPlayable", decides: ["L16"],
            scope: .realPlayer("the double's plain player never fails")
        ) { bench in
            let page = OriginBehaviour.status(200, fields: ["Content-Type": "text/html"], body: Array("<html></html>".utf8))
            for (name, behaviour) in [("404", OriginBehaviour.status(404)), ("403", .status(403)), ("500", .status(500)), ("a page", page)]
            {
                let play = try bench.open(bench.serve(.film, as: "/\(name.count)-\(name.hashValue).mp4", behaviour))
                let asset = play.asset
                bench.outcomes[name] = try await play.outcome()
                // The loader gives an empty type to a request that it fails. Without a type, this
                // property never loads.
                let isLoaded = Locked(false)
                Task {
                    _ = try? await asset?.load(.isPlayable)
                    isLoaded.withLock { $0 = true }
                }
                try await bench.until("\(name): isPlayable", within: 5) { isLoaded.withLock { $0 } }
            }
        },
        DeviceCase("E9", "a stored film plays without its origin", decides: ["L9", "L10", "S12"], comparesPlain: false) { bench in
            let url = try bench.serve(.film)
            try await bench.cache.preload(url, .whole).result()
            await bench.reopen()
            bench.origin.setOffline(true, breaksTransfers: true)
            let play = try await bench.play(url)
            try await play.seek(0.7)
            try await play.reachesEnd()
            try bench.expectReal(bench.numbers[Bench.start] ?? 0 < 500, "the start took more than half a second")
        },
        DeviceCase("E10", "the renewal comes by its date, and once", decides: ["L12"], comparesPlain: false) { bench in
            let old = try bench.serve(.film, as: "/old.mp4", .slow(bytesPerSecond: 200_000))
            let new = try bench.serve(.film, as: "/new.mp4")
            let calls = Locked(0)
            var factory = CachingAssetFactory(cache: try bench.cache)
            factory.renewURL = { _ in
                calls.withLock { $0 += 1 }
                return RenewedURL(new)
            }
            let item = factory.playerItem(for: old, options: [CachingAVURLAsset.expiryDateKey: Date(timeIntervalSinceNow: 1)])
            let play = try bench.open(items: [item])
            try await play.start()
            try await bench.until("the renewal", within: 10) { calls.withLock { $0 } > 0 }
            try await bench.wait(3)
            try bench.expect(calls.withLock { $0 } <= 2, "the renewal was asked \(calls.withLock { $0 }) times")
        },
    ]

    /// Containers and their types.
    static let containers =
        [("M1", Sample.Kind.song), ("M2", .wav), ("M3", .caf), ("M4", .flac), ("M5", .mp3), ("M6", .aiff)].map { id, kind in
            DeviceCase(
                id, "\(kind.rawValue) plays, seeks to the middle and ends once", decides: id == "M5" ? ["P18"] : id == "M1" ? ["L6"] : []
            ) { bench in
                let play = try await bench.play(bench.serve(kind))
                let duration = play.player.currentItem?.duration.seconds ?? 0
                bench.numbers["duration s"] = duration
                try bench.expect(abs(duration - play.length) < (id == "M5" ? 600 : 0.3), "the duration is \(duration) s")
                try await play.seek(0.5)
                try await play.reachesEnd()
            }
        } + [
            DeviceCase("M7", "a URL without extension, with slashes in its query and with octets plays", decides: ["L25"]) { bench in
                let url = try bench.serve(.film, as: "/watch/7?token=a/b/c", type: "application/octet-stream")
                if bench.withSpool {
                    let item = try bench.cache.playerItem(for: url, options: [CachingAVURLAsset.contentTypeKey: "video/mp4"])
                    try await bench.open(items: [item]).start()
                } else {
                    bench.numbers["plays without help 0 or 1"] = try await bench.open(url).outcome() == "plays" ? 1 : 0
                }
            },
            DeviceCase(
                "M8", "Ogg, WebM, AVI and ADTS have the same outcome as without Spool", decides: ["L7", "L8"],
                scope: .realPlayer("the double's plain player plays everything")
            ) { bench in
                for kind in [Sample.Kind.ogg, .webm, .avi, .adts] {
                    bench.outcomes[kind.rawValue] = try await bench.open(bench.serve(kind)).outcome()
                }
            },
            DeviceCase("M9", "a seek beyond 4 GiB asks for the bytes there", decides: ["L24"]) { bench in
                let play = try bench.open(bench.serve(.huge))
                try await play.ready()
                try await play.seek(0.9)
                guard bench.withSpool || Bench.isReal else { return }
                let starts = bench.requests.compactMap { $0.range?.split(separator: "=").last?.split(separator: "-").first }.compactMap {
                    Int64($0)
                }
                try bench.expect(starts.contains { $0 > 1 << 32 }, "no request beyond 4 GiB: \(starts)")
            },
        ]
}
