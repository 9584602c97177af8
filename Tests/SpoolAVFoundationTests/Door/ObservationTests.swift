import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting
import Testing

/// Events, statistics and downloads as sequences.
@Suite(.timeLimit(.minutes(20))) struct ObservationTests {
    private static let song = VirtualResource(
        url: "http://origin.test/song.mp3", seed: 4, length: 2 << 20, contentType: "audio/mpeg")

    /// A cache in memory, over an origin of the test.
    private final class Scene {
        let cache: MediaCache
        let url: URL
        private let lane = DiskLane(name: "origin")
        private let directory: URL

        init() throws {
            url = try #require(URL(string: song.url))
            directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-observation-\(UUID().uuidString)")
            var configuration = Configuration()
            configuration.storage.directory = directory.path
            configuration.network.transport = ScriptedOrigin([song], mailbox: lane, time: SystemTime(), random: SystemRandom())
            cache = try MediaCache(configuration: configuration)
        }

        func close() async throws {
            await cache.close()
            lane.shutdown()
            try FileManager.default.removeItem(at: directory)
        }
    }

    @Test func `two streams get the events of a download, and end when the cache is closed`() async throws {
        let scene = try Scene()
        let streams = [scene.cache.observation.events, scene.cache.observation.events]
        try await scene.cache.preload(scene.url, .whole).result()
        try await scene.close()
        let key = try scene.cache.key(for: Self.song.url)
        for stream in streams {
            var names: [String] = [], committed: Int64 = 0
            for await event in stream {
                switch event {
                case .fetchStarted(key, _, _): names.append("start")
                case .fetchEnded(key, _, _): names.append("end")
                case .bytesCommitted(key, let bytes): committed += bytes
                default: break
                }
            }
            #expect(names.first == "start" && names.last == "end")
            #expect(committed == Self.song.length)
        }
        // A closed cache has no more events.
        for await event in scene.cache.observation.events { Issue.record("\(event)") }
    }

    @Test func `the statistics come now and after a change, and end when the cache is closed`() async throws {
        let scene = try Scene()
        var statistics = scene.cache.observation.statistics(every: .milliseconds(100)).makeAsyncIterator()
        #expect(await statistics.next() == Statistics())
        try await scene.cache.preload(scene.url, .whole).result()
        var last = Statistics()
        while last.fetchedBytes < Self.song.length, let next = await statistics.next() { last = next }
        #expect(last.fetchedBytes == Self.song.length)
        try await scene.close()
        while await statistics.next() != nil {}
    }
}
