import Foundation
import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTesting

/// The process that is killed: a list of 20 downloads of files and four of presentations, on the
/// real disk, from an origin in the same process that breaks some of its responses off.
///
/// Writes to standard output, for its parent: each entry that the list has taken (`a URL`), each
/// pause and resumption before (`x URL`) and after it (`p URL`, `u URL`), the body bytes before the
/// cache gets them (`b URL from to`), and each error (`w …`).
struct Downloader {
    /// The most downloads that run at once.
    static let running = 3
    /// The rate of one response.
    private static let bytesPerSecond: Int64 = 2 << 20

    let life: CrashOptions.Life

    init(_ life: CrashOptions.Life) { self.life = life }

    static func group(_ number: Int) -> String { number % 2 == 0 ? "even" : "odd" }
    static func priority(_ number: Int) -> Int { number % 3 }

    func download() async throws {
        let random = SeededRandom(seed: life.seed)
        let lanes = ["control", "index", "sync", "data-0", "data-1", "origin"].map { DiskLane(name: $0) }
        let time = SystemTime()
        let resources = Programme.downloadedResources
        let origin = ScriptedOrigin(resources, mailbox: lanes[5], time: time, random: SystemRandom()) { request, _ in
            let pace = OriginPace(bytesPerSecond: Self.bytesPerSecond, chunkBytes: 1000...16_384)
            let behaviour = OriginBehaviour.paced(pace, Programme.playlistAnswer(to: request) ?? .correct)
            guard random.next(below: 2) == 0 else { return behaviour }
            return .cut(afterBytes: Int64(random.next(below: 200_000)), .reset, behaviour)
        }
        var environment = CacheEnvironment(
            time: time, random: SystemRandom(), transport: ReportingTransport(origin), control: lanes[0], indexLane: lanes[1],
            dataLanes: Array(lanes[3...4]))
        environment.syncLane = lanes[2]
        let store = try SQLiteStore(
            directory: life.directory, fileSystem: POSIXFileSystem(), random: SystemRandom(), options: SQLiteStore.Options())
        let cache = try MediaCache(configuration: Configuration(), environment: environment, store: store)
        Reporter.say("r")
        cache.downloads.settings.maximumRunning = Self.running
        try await cache.downloads.start()
        try await addAll(to: cache)
        if life.work == .downloadsToEnd { return try await finish(cache) }
        while true { try await pauseAndResume(random, in: cache) }
    }

    private func addAll(to cache: MediaCache) async throws {
        let known = Set(try await cache.downloads.list().map(\.url))
        for (number, url) in Programme.listed.enumerated() where !known.contains(url) {
            try await cache.downloads.add(url, group: Self.group(number), priority: Self.priority(number))
            Reporter.say("a \(url)")
        }
    }

    /// Pauses or resumes a download that is not over, and waits for the next change of the list.
    private func pauseAndResume(_ random: SeededRandom, in cache: MediaCache) async throws {
        let url = Programme.listed[Int(random.next(below: UInt64(Programme.listed.count)))]
        Reporter.say("x \(url)")
        if random.next(below: 2) == 0 {
            if try await cache.downloads.pause(url) { Reporter.say("p \(url)") }
        } else if try await cache.downloads.resume(url) {
            Reporter.say("u \(url)")
        }
        var updates = cache.downloads.updates.makeAsyncIterator()
        for _ in 0..<2 { _ = await updates.next() }
    }

    private func finish(_ cache: MediaCache) async throws {
        for url in Programme.listed { Reporter.say("x \(url)") }
        try await cache.downloads.resumeAll()
        for await list in cache.downloads.updates where list.allSatisfy({ $0.state.isOver }) { break }
        await cache.close()
    }
}

extension Download.State {
    fileprivate var isOver: Bool {
        switch self {
        case .complete, .failed: true
        case .queued, .running, .paused, .waitingForNetwork: false
        }
    }
}

/// Reports the body bytes of each response before the cache gets them.
private final class ReportingTransport: Transport {
    private let base: any Transport

    init(_ base: any Transport) { self.base = base }

    var windowBytes: Int64? { base.windowBytes }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        base.start(request, receiver: Receiver(request.url, receiver))
    }

    func close() { base.close() }

    private final class Receiver: TransferReceiver {
        private let url: String
        private let base: any TransferReceiver
        private let position = Locked<Int64>(0)

        init(_ url: String, _ base: any TransferReceiver) {
            self.url = url
            self.base = base
        }

        func answerIsLate() { base.answerIsLate() }

        func headReceived(_ head: ResponseHead) {
            // "bytes 100-199/300" begins at 100.
            let range = head.status == 206 ? head.fields["Content-Range"] : nil
            let first = range.flatMap { Int64($0.dropFirst("bytes ".count).prefix { $0.isNumber }) }
            position.withLock { $0 = first ?? 0 }
            base.headReceived(head)
        }

        func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
            let lower = position.withLock { $0 }
            let answer = base.bodyReceived(bytes)
            guard answer == .taken else { return answer }
            position.withLock { $0 += Int64(bytes.count) }
            Reporter.say("b \(url) \(lower) \(lower + Int64(bytes.count))")
            return answer
        }

        func batchEnded() { base.batchEnded() }
        func measured(_ timings: TransferTimings) { base.measured(timings) }
        func finished(_ end: TransferEnd) { base.finished(end) }
    }
}
