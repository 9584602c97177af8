import Foundation
import Spool
import SpoolSystem
import SpoolTesting
import Testing

/// The text that an app gets of a cache: log lines, events, and the description of an error.
@Suite(.timeLimit(.minutes(20))) struct LogTests {
    private static let song = VirtualResource(url: "http://cdn.test/song.mp3", seed: 3, length: 300_000)
    private static let missing = "http://cdn.test/missing.mp3?signature=secret"

    /// Keeps the lines and reasons that it is given.
    private final class Lines: LogSink, EventSink {
        let level: LogLevel
        let lines = Locked<[(level: LogLevel, text: String)]>([])
        let reasons = Locked<[String]>([])

        init(level: LogLevel) { self.level = level }

        func log(_ level: LogLevel, _ message: String) { lines.withLock { $0.append((level, message)) } }

        func record(_ event: CacheEvent) {
            if case .fetchEnded(_, _, let reason?) = event { reasons.withLock { $0.append(reason) } }
        }
    }

    /// Reads URLs in turn with a log of this level: by default a song, and one that the origin lacks.
    ///
    /// - Returns: The lines, and the last error.
    private func lines(at level: LogLevel, _ urls: [String] = [song.url, missing]) async throws -> (lines: Lines, error: CacheError?) {
        let lane = DiskLane(name: "origin")
        let origin = ScriptedOrigin([Self.song], mailbox: lane, time: SystemTime(), random: SystemRandom()) { request, _ in
            if request.url.contains("broken") { return .status(500) }
            return request.url.contains("missing") ? .status(404, body: Array("no such song".utf8)) : .correct
        }
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-log-\(UUID().uuidString)")
        let lines = Lines(level: level)
        var configuration = Configuration()
        configuration.storage.directory = directory.path
        configuration.network.transport = origin
        configuration.log = lines
        configuration.events = [lines]
        let cache = try MediaCache(configuration: configuration)
        var failure: CacheError?
        for url in urls {
            do { _ = try await cache.reader(for: url).bytes() } catch let error as CacheError { failure = error }
        }
        await cache.close()
        lane.shutdown()
        try FileManager.default.removeItem(at: directory)
        return (lines, failure)
    }

    @Test func `each request that is over is measured once`() async throws {
        let (lines, _) = try await lines(at: .trace)
        let measured = lines.lines.withLock { lines in lines.filter { $0.level == .trace && $0.text.contains(" ms, ") }.map(\.text) }
        #expect(measured.count == 2 && measured.allSatisfy { $0.hasPrefix("fetch of http://cdn.test/") }, "\(measured)")
        #expect(measured.contains { $0.contains("song.mp3") && $0.contains("300000 bytes received, first byte after") })
    }

    @Test func `an origin that fails is one warning, and one notice when it answers again`() async throws {
        let broken = (1...3).map { "http://cdn.test/broken\($0).mp3" }
        let (lines, error) = try await lines(at: .notice, broken + [Self.song.url, Self.missing] + broken)
        #expect(error?.code == .originStatus)
        let fails = "http://cdn.test fails: the origin answered 500; its further failures are logged at debug"
        let found = lines.lines.withLock { $0.map { "\($0.level): \($0.text)" } }
        #expect(found == ["warning: \(fails)", "notice: http://cdn.test answers again", "warning: \(fails)"])
    }

    @Test func `an origin's refusal reads as a sentence in log, event and alert`() async throws {
        let (lines, error) = try await lines(at: .debug)
        let texts = lines.lines.withLock { $0.map(\.text) }
        #expect(texts.contains("fetch of http://cdn.test/missing.mp3 brought 0 bytes: the origin answered 404"), "\(texts)")
        #expect(lines.reasons.withLock { $0 } == ["the origin answered 404"])
        #expect(error?.errorDescription == "The origin answered 404")
        #if canImport(Darwin)
        let alert: any Error = try #require(error)
        #expect(alert.localizedDescription == "The origin answered 404")
        #endif
    }

    @Test func `events of readers are made only where a sink, a trace log or a stream takes them`() async throws {
        /// Counts the readers, and may say that it takes no events of them.
        final class Readers: LogSink, EventSink {
            let level: LogLevel
            let recordsReaders: Bool
            let count = Locked(0)

            init(level: LogLevel, recordsReaders: Bool) {
                self.level = level
                self.recordsReaders = recordsReaders
            }

            func log(_ level: LogLevel, _ message: String) {}
            func record(_ event: CacheEvent) { if case .readerJoined = event { count.withLock { $0 += 1 } } }
        }
        for (takes, level, isStreamed, expected) in [
            (true, LogLevel.info, false, 2), (false, .info, false, 0), (false, .trace, false, 2), (false, .info, true, 2),
        ] {
            let sink = Readers(level: level, recordsReaders: takes)
            var configuration = Configuration()
            configuration.log = sink
            configuration.events = [sink]
            let cache = try MediaCache.inMemory(origin: ScriptedOrigin([Self.song]), configuration: configuration)
            let events = isStreamed ? cache.observation.events : nil
            for _ in 0..<2 { _ = try await cache.reader(for: Self.song.url).read(at: 0, count: 10) }
            await cache.close()
            #expect(sink.count.withLock { $0 } == expected, "\(takes) \(level) \(isStreamed)")
            guard let events else { continue }
            var streamed = 0
            for await event in events { if case .readerJoined = event { streamed += 1 } }
            #expect(streamed == 2)
        }
    }

    @Test(arguments: LogLevel.allCases)
    func `a log gets no line below its level`(level: LogLevel) async throws {
        let lines = try await lines(at: level).lines.lines.withLock { $0 }
        #expect(lines.allSatisfy { $0.level >= level }, "\(lines)")
        #expect(lines.isEmpty == (level > .debug), "a 404 and the start of a fetch are worth a line at debug")
        #expect(lines.contains { $0.level == .trace } == (level == .trace), "a reader that joins is worth one at trace")
    }
}
