import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolBackground
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Downloads that the system continues while the app is suspended or gone.
@Suite(.timeLimit(.minutes(20))) struct BackgroundDownloadTests {
    // MARK: The machine

    private func rest(_ name: String, from lower: Int64 = 0) throws -> HandOver {
        try #require(HandOver(label: "spool-1\n\(lower)\n\"v1\"\n\(name)\nhttp://origin.test/\(name)"))
    }

    @Test func `a download continues as one task, and its file is stored before the app's handler is called`() throws {
        let film = try rest("film", from: 7)
        var machine = BackgroundTransferMachine()
        #expect(machine.suspended([film]) == [.start(film)] && machine.suspended([film]).isEmpty)
        machine.started(3, film.key)
        #expect(machine.keeps(film.key) && machine.woken().isEmpty)
        #expect(machine.arrived(film, refusal: nil) == [.store(film)])
        #expect(machine.eventsDelivered().isEmpty)
        #expect(machine.stored(film.key) == [.release(film.key), .finishEvents] && !machine.keeps(film.key))
    }

    @Test func `a file that does not fit is dropped, and the app's download goes on`() throws {
        let film = try rest("film")
        var machine = BackgroundTransferMachine()
        _ = machine.suspended([film])
        #expect(machine.arrived(film, refusal: "other") == [.drop(film, reason: "other"), .release(film.key)])
        #expect(!machine.keeps(film.key))
    }

    @Test func `a failed task starts again in the background only, three times in all`() throws {
        let film = try rest("film")
        var machine = BackgroundTransferMachine()
        _ = machine.suspended([film])
        #expect(machine.failed(film, isInBackground: true) == [.start(film)])
        #expect(machine.failed(film, isInBackground: true) == [.start(film)])
        #expect(machine.failed(film, isInBackground: true) == [.release(film.key)])
        _ = machine.suspended([film])
        #expect(machine.failed(film, isInBackground: false) == [.release(film.key)])
    }

    @Test func `after a relaunch, one task of each resource goes on, and unreadable ones are cancelled`() throws {
        let film = try rest("film"), song = try rest("song")
        var machine = BackgroundTransferMachine()
        #expect(machine.found([(1, film), (2, film), (3, nil), (4, song)]) == [.cancel(task: 2), .cancel(task: 3)])
        #expect(machine.keeps(film.key) && machine.keeps(song.key) && machine.suspended([film, song]).isEmpty)
        #expect(machine.arrived(song, refusal: nil) == [.store(song)])
    }

    @Test func `a second file does not disturb the one that is being stored`() throws {
        let film = try rest("film")
        var machine = BackgroundTransferMachine()
        #expect(machine.woken().isEmpty && machine.arrived(film, refusal: nil) == [.store(film)] && machine.eventsDelivered().isEmpty)
        for refusal in [nil, "other"] as [String?] {
            guard case .drop(film, _) = machine.arrived(film, refusal: refusal).first else { Issue.record("it was used"); return }
        }
        #expect(machine.abandoned(film.key).isEmpty && machine.stored(film.key) == [.release(film.key), .finishEvents])
    }

    @Test func `the app's handler is called also when the events came before it`() throws {
        var machine = BackgroundTransferMachine()
        #expect(machine.eventsDelivered().isEmpty && machine.woken() == [.finishEvents] && machine.woken().isEmpty)
        #expect(machine.eventsDelivered() == [.finishEvents])
    }

    @Test func `the number of tasks is bounded`() throws {
        var machine = BackgroundTransferMachine()
        let all = try (0..<100).map { try rest("\($0)") }
        #expect(machine.suspended(all).count == BackgroundTransferMachine.maxTasks)
    }

    @Test func `a label survives a relaunch, and any other text is refused`() throws {
        let film = try rest("film", from: 1234)
        #expect(HandOver(label: film.label) == film)
        #expect(film.requestFields["Range"] == "bytes=1234-" && film.requestFields["If-Range"] == "\"v1\"")
        for text in ["", "spool-1", "spool-1\n-1\n\nk\nu", "spool-2\n0\n\nk\nu", "spool-1\nx\n\nk\nu", "spool-1\n0\n\n\nu"] {
            #expect(HandOver(label: text) == nil, "\(text)")
        }
    }

    @Test func `a label keeps the end of the missing bytes, and refuses one before their beginning`() throws {
        let film = try #require(HandOver(label: "spool-1\n7-100\n\"v1\"\nfilm\nhttp://origin.test/film"))
        #expect(film.request.upper == 100 && film.requestFields["Range"] == "bytes=7-99" && HandOver(label: film.label) == film)
        for range in ["7-", "7-7", "-7", "7-x", "7-8-9", "7-9223372036854775807"] {
            #expect(HandOver(label: "spool-1\n\(range)\n\nfilm\nhttp://origin.test/film") == nil, "\(range)")
        }
    }

    @Test func `the files of a killed process are found with their records, and those of other sessions stay`() throws {
        let directory = try TemporaryDirectory()
        let files = DownloadFiles(in: directory.path + "/", session: "com.example/app")
        let others = DownloadFiles(in: directory.path, session: "com.example/app-2")
        var film = try rest("film", from: 7)
        film.fields = ["Accept": "video/*"]
        film.access.allowsCellular = false
        let head = ResponseHead(status: 206, fields: ["Content-Range": "bytes 7-9/10", "ETag": "\"v1\""])
        for path in [files.path("1"), files.path("2"), others.path("3"), directory.path + "/film"] {
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
        }
        try files.keep(film, head, at: files.path("1"))
        try files.keep(film, head, at: files.path("gone"))
        var secret = film
        secret.fields = ["Cookie": "session=1"]
        try files.keep(secret, head, at: files.path("2"))
        let found = try files.leftovers()
        #expect(found.map(\.path) == [files.path("1")] && found.first?.download == film && found.first?.head == head)
        #expect(Set(try names(directory)) == ["1", "1.record", "3", "film"])
        try DownloadFiles.delete(files.path("1"))
        #expect(try files.leftovers().isEmpty && Set(try names(directory)) == ["3", "film"])
    }

    /// A directory that is deleted with the object.
    private final class TemporaryDirectory: Sendable {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("spool-test-\(UUID().uuidString)").path

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

        deinit {
            do { try FileManager.default.removeItem(atPath: path) } catch { Issue.record("\(error)") }
        }
    }

    /// The ends of the names in a directory.
    private func names(_ directory: TemporaryDirectory) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).map { $0.split(separator: "-").last.map(String.init) ?? $0 }
    }

    // MARK: The shell

    /// A session whose tasks a test ends.
    private final class SessionDouble: BackgroundSession {
        let started = Locked<[HandOver]>([])
        let cancelled = Locked<[Int]>([])

        let isUnable: Bool

        init(isUnable: Bool = false) { self.isUnable = isUnable }

        func start(_ download: HandOver) -> Int? {
            if isUnable { return nil }
            return started.withLock { started in
                started.append(download)
                return started.count
            }
        }

        func cancel(_ task: Int) { cancelled.withLock { $0.append(task) } }
    }

    /// An app that downloads a song and is suspended in the middle of it.
    private final class Stage {
        let world: DoorWorld
        let center = NotificationCenter()
        let session: SessionDouble
        let core = Locked<BackgroundCore?>(nil)
        let lifecycle: AppLifecycle
        let downloads: BackgroundDownloads
        let events: EventLog
        let granted = Locked<(@Sendable () -> Void)?>(nil)

        final class EventLog: EventSink {
            let words = Locked<[String]>([])
            func record(_ event: CacheEvent) { if case .storeTrouble(let text) = event { words.withLock { $0.append(text) } } }
        }

        init(isUnable: Bool = false) throws {
            session = SessionDouble(isUnable: isUnable)
            let events = EventLog()
            self.events = events
            var plan = World.Plan()
            plan.usesDisk = true
            plan.transportAround = { ReceivedFilesTransport($0, on: $1) }
            plan.configure = { $0.events.append(events) }
            world = try DoorWorld(length: 1_000_000, plan: plan)
            let (granted, core, session) = (granted, core, session)
            lifecycle = AppLifecycle(
                cache: world.world.cache,
                center: LifecycleCenter(center: center, resigned: "inactive", background: "away", foreground: "back") { expired in
                    granted.withLock { $0 = expired }
                    return {}
                })
            let queue = LoaderQueue(queue: DispatchQueue(label: "unused"), mailbox: world.simulator.mailbox("background"))
            downloads = BackgroundDownloads(cache: world.world.cache, identifier: "test", queue: queue) { made in
                core.withLock { $0 = made }
                return session
            }
            world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000, chunkBytes: 10_000...10_000) }
        }

        /// Downloads for three seconds, and suspends the app.
        func suspend() throws -> (download: ResourceKey, rest: HandOver) {
            let download = try suspendAlone()
            return (download, try #require(session.started.withLock { $0.first }))
        }

        /// Downloads for three seconds, and suspends the app.
        func suspendAlone() throws -> ResourceKey {
            let download = try world.download(fields: ["X-Ticket": "7"])
            world.pass(.seconds(3))
            center.post(name: Notification.Name("away"), object: nil)
            world.pass(.milliseconds(100))
            granted.withLock { $0 }?()
            world.pass(.milliseconds(100))
            #expect(world.isSuspended)
            return download
        }

        /// Expects that a player gets every byte of the song.
        func expectWhole() {
            let asset = world.asset()
            let all = world.load(asset, information: true, 0, 1_000_000, toEnd: true)
            #expect(world.runToEnd() && world.difference(all, at: 0) == nil && all.bytes.count == 1_000_000)
            withExtendedLifetime(asset) {}
        }

        /// Ends the task with the missing bytes, and expects that they end the download without another
        /// request.
        func expectRest(_ rest: HandOver, ends download: ResourceKey) throws {
            let sent = world.world.origin.log.entries.count
            try finish(rest)
            #expect(world.run { world.isDownloaded(download) })
            #expect(world.world.origin.log.entries.count == sent, "the file has all that was missing")
            expectWhole()
        }

        /// Ends the task with a file of these bytes.
        func finish(_ rest: HandOver, tag: String? = nil, damage: Int64 = 0) throws {
            let resource = try #require(world.world.versions[DoorWorld.url]?.last)
            let lower = rest.request.lower
            let upper = rest.request.upper ?? resource.length
            let bytes = resource.content.bytes(at: lower, count: Int(upper - lower - damage))
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("spool-test-\(UUID().uuidString)")
            try Data(bytes).write(to: path)
            let fields: HTTPFields = [
                "Content-Range": "bytes \(lower)-\(upper - 1)/\(resource.length)", "ETag": tag ?? rest.request.ifRange ?? "",
                "Content-Type": "audio/mpeg",
            ]
            core.withLock { $0 }?.arrived(rest, head: ResponseHead(status: 206, fields: fields), path: path.path)
            #expect(damage == 0 || !FileManager.default.fileExists(atPath: path.path))
        }
    }

    @Test func `a download continues in the background from its first missing byte, and costs no byte twice`() throws {
        let stage = try Stage()
        let (download, rest) = try stage.suspend()
        #expect(rest.request.lower > 200_000 && rest.request.ifRange != nil && rest.requestFields["X-Ticket"] == "7")
        try stage.expectRest(rest, ends: download)
        #expect(stage.events.words.withLock { $0 } == [])
    }

    @Test func `a download passes to the system while the app is still in the foreground`() throws {
        let stage = try Stage()
        let download = try stage.world.download()
        // The stored bytes stay below the read-ahead. Beyond it, a reader asks about the gap by a
        // conditional request.
        stage.world.pass(.seconds(2))
        stage.center.post(name: Notification.Name("inactive"), object: nil)
        stage.world.pass(.milliseconds(100))
        let rest = try #require(stage.session.started.withLock { $0.first })
        #expect(rest.request.lower > 100_000)
        // Nothing of the app's own runs, so the store is released at once.
        stage.center.post(name: Notification.Name("away"), object: nil)
        #expect(stage.world.run { stage.world.isSuspended })
        try stage.expectRest(rest, ends: download)
    }

    @Test func `a download whose bytes a player fetches as well stays with the app`() throws {
        let stage = try Stage()
        let download = try stage.world.download()
        let asset = stage.world.asset()
        stage.world.load(asset, information: true, 0, toEnd: true)
        stage.world.pass(.seconds(3))
        stage.center.post(name: Notification.Name("inactive"), object: nil)
        #expect(stage.world.run { stage.world.isDownloaded(download) })
        #expect(stage.session.started.withLock { $0.isEmpty } && stage.world.requests.count == 1)
        withExtendedLifetime(asset) {}
    }

    @Test func `a download that the system does not take goes on in the foreground`() throws {
        let stage = try Stage(isUnable: true)
        let download = try stage.world.download()
        stage.world.pass(.seconds(3))
        stage.center.post(name: Notification.Name("inactive"), object: nil)
        #expect(stage.world.run { stage.world.isDownloaded(download) })
    }

    @Test func `a file that an earlier process received and did not store is stored at the launch`() throws {
        let directory = try TemporaryDirectory()
        let files = DownloadFiles(in: directory.path, session: "test")
        let stage = try Stage()
        let resource = try #require(stage.world.world.versions[DoorWorld.url]?.last)
        let key = try stage.world.world.cache.key(for: DoorWorld.url)
        let film = try #require(HandOver(label: "spool-1\n0\n\n\(key.string)\n\(DoorWorld.url)"))
        let head = ResponseHead(
            status: 200, fields: ["Content-Length": "\(resource.length)", "ETag": "\"v1\"", "Content-Type": "audio/mpeg"])
        try files.keep(film, head, at: files.path("1"))
        try Data(resource.content.bytes(at: 0, count: Int(resource.length))).write(to: URL(fileURLWithPath: files.path("1")))
        stage.core.withLock { $0 }?.adopt(files)
        #expect(stage.world.run { stage.world.world.cache.storedNow(of: key)?.totalBytes == resource.length })
        #expect(stage.world.run { (try? files.leftovers().isEmpty) == true })
        #expect(stage.world.world.origin.log.entries.isEmpty && stage.events.words.withLock { $0 } == [])
        stage.expectWhole()
    }

    @Test func `the system fetches no stored byte at the end of a resource again`() throws {
        let stage = try Stage()
        // The index at the end was read before.
        let asset = stage.world.asset()
        stage.world.load(asset, information: true, 900_000, 100_000)
        #expect(stage.world.runToEnd())
        stage.world.pass(.seconds(2))
        let (download, rest) = try stage.suspend()
        let upper = try #require(rest.request.upper)
        #expect(upper <= 900_000 && rest.request.lower < upper)
        try stage.expectRest(rest, ends: download)
        withExtendedLifetime(asset) {}
    }

    @Test func `a file of another version or of another size never gets into the store`() throws {
        for (tag, damage) in [("\"other\"", 0), (nil, 1)] as [(String?, Int64)] {
            let stage = try Stage()
            let (download, rest) = try stage.suspend()
            try stage.finish(rest, tag: tag, damage: damage)
            #expect(stage.events.words.withLock { $0.count } == 1)
            stage.center.post(name: Notification.Name("back"), object: nil)
            #expect(stage.world.run { stage.world.isDownloaded(download) })
            stage.expectWhole()
        }
    }

    @Test func `while the system has the download, the app's own waits`() throws {
        let stage = try Stage()
        let (download, rest) = try stage.suspend()
        stage.center.post(name: Notification.Name("back"), object: nil)
        stage.world.pass(.seconds(20))
        #expect(!stage.world.isDownloaded(download) && stage.world.world.origin.log.entries.count == 1)
        stage.core.withLock { $0 }?.failed(rest)
        #expect(stage.world.run { stage.world.isDownloaded(download) })
    }

    @Test func `a download that the system cannot continue goes on when the app returns`() throws {
        let stage = try Stage(isUnable: true)
        let download = try stage.suspendAlone()
        stage.center.post(name: Notification.Name("back"), object: nil)
        #expect(stage.world.run { stage.world.isDownloaded(download) })
    }

    @Test func `a paused download ends its task`() throws {
        let stage = try Stage()
        let (download, rest) = try stage.suspend()
        stage.center.post(name: Notification.Name("back"), object: nil)
        stage.world.pass(.seconds(1))
        stage.world.change { $0.pause(download) ? [download] : [] }
        #expect(stage.world.run { stage.session.cancelled.withLock { $0 } == [1] })
        stage.core.withLock { $0 }?.failed(rest)
        #expect(stage.session.started.withLock { $0.count } == 1, "it does not start again")
    }

    @Test func `a launch in the background stores the file, and releases the locks`() throws {
        let before = try Stage()
        let rest = try before.suspend().rest
        let stage = try Stage()
        let whole = try #require(HandOver(label: "spool-1\n0\n\n\(rest.key.string)\n\(rest.request.url)"))
        #expect(!stage.downloads.handleEvents(ofSession: "another") {})
        #expect(stage.downloads.handleEvents(ofSession: "test") {})
        try stage.finish(whole, tag: "\"v1\"")
        stage.core.withLock { $0 }?.eventsDelivered()
        #expect(stage.world.run { stage.world.isSuspended })
        #expect(stage.world.world.cache.storedNow(of: rest.key)?.totalBytes == 1_000_000)
        #expect(stage.world.world.origin.log.entries.isEmpty && stage.events.words.withLock { $0 } == [])
        stage.center.post(name: Notification.Name("back"), object: nil)
        stage.expectWhole()
    }
}
