import Spool
import SpoolCore
import SpoolDashboard
import SpoolTestSupport
import SpoolTesting
import Testing

/// The notices of a cache: what happened, and why.
@Suite(.timeLimit(.minutes(20))) struct NoticeTests {
    private let film = ResourceKey(normalized: "http://origin.test/film.mp4")

    private struct Uploaded: TierEvent {
        let name = "uploaded", sentence = "upload of film"
        var level: LogLevel
        var key: ResourceKey?
    }

    private func time(_ seconds: Int64) -> Timestamp { Timestamp(nanoseconds: seconds * 1_000_000_000) }

    @Test func `events of each request make no notice, and each other event makes one with its reason`() {
        let daily: [CacheEvent] = [
            .readerJoined(film, start: 0, end: nil), .fetchStarted(film, lower: 0, upper: nil), .fetchEnded(film, bytes: 9, reason: nil),
            .bytesCommitted(film, bytes: 9), .removed(film), .tier(Uploaded(level: .info, key: film)),
        ]
        for event in daily { #expect(CacheNotice(of: event) == nil, "\(event)") }
        #expect(CacheNotice(of: .fetchEnded(film, bytes: 9, reason: "cut")) == CacheNotice(.originFailed, film, because: "cut"))
        #expect(CacheNotice(of: .degradedToPassthrough(film, reason: "no-store")) == CacheNotice(.notStored, film, because: "no-store"))
        let evicted = CacheNotice(of: .evicted(film, bytes: 9, because: .maximumAge))
        #expect(evicted == CacheNotice(.evicted, film, because: "it was not used for longer than the maximum age", bytes: 9))
        #expect(CacheNotice(of: .damageFound(film, bytes: 9)) == CacheNotice(.damaged, film, bytes: 9))
        #expect(CacheNotice(of: .networkRefused(film, reason: "expensive")) == CacheNotice(.paused, film, because: "expensive"))
        #expect(CacheNotice(of: .becameWriter)?.kind == .becameWriter)
        let failed = Uploaded(level: .notice, key: film)
        #expect(CacheNotice(of: .tier(failed)) == CacheNotice(.bucket, film, because: failed.sentence))
        #expect(CacheNotice(of: .storeTrouble("a disk")) == CacheNotice(.store, because: "a disk"))
    }

    @Test func `the list is bounded, the newest notice is first, and the oldest leaves`() {
        var list = NoticeList()
        for number in 0...NoticeList.limit { list.add(CacheNotice(.refused, because: "\(number)"), at: time(Int64(number))) }
        #expect(list.entries.count == NoticeList.limit)
        #expect(list.entries.first?.notice.because == "\(NoticeList.limit)")
        #expect(list.entries.last?.notice.because == "1")
        #expect(list.changes == Int64(NoticeList.limit) + 1)
    }

    @Test func `a repeated notice is one entry with a count, the last time and the sum of its bytes`() {
        var list = NoticeList()
        list.add(CacheNotice(.evicted, film, because: "quota", bytes: 5), at: time(1))
        list.add(CacheNotice(.evicted, film, because: "age", bytes: 1), at: time(2))
        list.add(CacheNotice(.evicted, film, because: "quota", bytes: 7), at: time(3))
        #expect(list.entries.map(\.notice.because) == ["quota", "age"])
        #expect(list.entries[0].count == 2 && list.entries[0].notice.bytes == 12 && list.entries[0].time == time(3))
    }

    @Test func `a long reason is cut, and repeats count all the same`() {
        var list = NoticeList()
        let reason = String(repeating: "x", count: 10_000)
        for second in 1...2 { list.add(CacheNotice(.store, because: reason), at: time(Int64(second))) }
        #expect(list.entries.count == 1 && list.entries[0].count == 2)
        #expect(list.entries[0].notice.because?.count == NoticeList.reasonLimit)
    }

    @Test func `a cache notes its events from the moment on at which it gets a board`() async throws {
        let songs = (1...2).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 100_000) }
        let world = try EngineWorld(songs, script: { _, _ in .fields(["Cache-Control": "no-store"], .correct) })
        _ = try await world.cache.reader(for: songs[0].url).bytes()
        let board = NoticeBoard(of: world.cache)
        #expect(board.entries.isEmpty && board.changes == 0)
        _ = try await world.cache.reader(for: songs[1].url).bytes()
        try await eventually("the reason is noted") { board.entries.contains { $0.notice.kind == .notStored } }
        await world.cache.close()
    }
}
