import Spool
import SpoolCore
import SpoolDashboard
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// The counts of each day outlive the process.
@Suite(.timeLimit(.minutes(20))) struct HistoryTests {
    private let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 3, length: 300_000)
    private let disk = MemoryDisk()

    /// A clock that stands at one moment of a day.
    private final class Noon: TimeSource {
        private let system = SystemTime()
        let wallNow: Timestamp

        init(day: Int64) { wallNow = Timestamp(seconds: day * 86_400 + 43_200) }

        var now: MonotonicInstant { system.now }
        func after(_ delay: Nanoseconds, on mailbox: any Mailbox, _ job: @escaping @Sendable () -> Void) -> SpoolSystem.Timer {
            system.after(delay, on: mailbox, job)
        }
    }

    private func openWorld(day: Int64) throws -> EngineWorld { try openWorld(Noon(day: day)) }

    private func openWorld(_ time: any TimeSource, on disk: MemoryDisk? = nil) throws -> EngineWorld {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        let store = try SQLiteStore(directory: "/cache", fileSystem: disk ?? self.disk, random: SeededRandom(seed: 1), options: options)
        let world = try EngineWorld([song], store: store, time: time)
        HistoryKeeper.of(world.cache)
        return world
    }

    @Test func `what a cache played and fetched is kept by day over restarts`() async throws {
        for day: Int64 in [20_000, 20_000, 20_001] {
            let world = try openWorld(day: day)
            try await world.play(song)
            await world.cache.close()
        }
        let world = try openWorld(day: 20_002)
        let days = try await HistoryKeeper.days(of: world.cache)
        #expect(days.map(\.day) == ["2024-10-04", "2024-10-05"])
        #expect(days.map(\.counts.fetchedBytes) == [song.length, 0])
        #expect(days.map { $0.counts.bytesFromStore + $0.counts.bytesFromOrigin } == [2 * song.length, song.length])
        #expect(days.map(\.counts.readers) == [2, 1])
        #expect(days.map(\.counts.savedBytes) == [song.length, song.length])
        #expect(world.cache.statistics.fetchedBytes == 0)
        await world.cache.close()
    }

    @Test func `the counts up to now are in the list before the store has them`() async throws {
        let world = try openWorld(day: 20_000)
        try await world.play(song)
        let days = try await HistoryKeeper.days(of: world.cache)
        #expect(days.map { $0.counts.bytesFromStore + $0.counts.bytesFromOrigin } == [song.length])
        #expect(try await HistoryKeeper.days(of: world.cache) == days)
        await world.cache.close()
    }

    @Test func `the store has the counts of stored bytes that were played alone after a minute`() async throws {
        let time = ManualTime()
        let first = try openWorld(time)
        try await first.play(song)
        await first.cache.close()
        let world = try openWorld(time)
        try await world.play(song)
        time.move(by: .seconds(60))
        _ = try await HistoryKeeper.days(of: world.cache)
        // The process is killed here.
        let other = try openWorld(time, on: disk.crash())
        #expect(try await HistoryKeeper.days(of: other.cache).map(\.counts.readers) == [2])
        await other.cache.close()
        await world.cache.close()
    }

    @Test func `clearing keeps the counts, and erasing everything removes them`() async throws {
        let world = try openWorld(day: 20_000)
        try await world.play(song)
        try await world.cache.clear()
        #expect(try await HistoryKeeper.days(of: world.cache).map(\.counts.fetchedBytes) == [song.length])
        try await world.cache.eraseEverything()
        #expect(try await HistoryKeeper.days(of: world.cache).isEmpty)
        try await world.play(song)
        await world.cache.close()
        let again = try openWorld(day: 20_000)
        #expect(try await HistoryKeeper.days(of: again.cache).map(\.counts.fetchedBytes) == [song.length], "of the second play alone")
        await again.cache.close()
    }

    // MARK: The text

    @Test func `a history reads what it wrote`() {
        var counts = Statistics()
        (counts.fetchedBytes, counts.originRequests, counts.bytesFromStore) = (1, 2, 3)
        (counts.bytesFromOrigin, counts.readers, counts.sentByOriginsBytes, counts.lostBytes) = (4, 5, 6, 7)
        var history = StatisticsHistory()
        history.add(counts, on: "2026-01-02")
        history.add(Statistics(), on: "2026-01-01")
        #expect(history.days.map(\.day) == ["2026-01-01", "2026-01-02"])
        #expect(history.days.last?.counts == counts)
        #expect(StatisticsHistory(history.text) == history)
    }

    @Test(arguments: [
        "", "\n\n", "2026-1-2 readers=1\n", "yesterday readers=1", "\u{0} readers=1", "2026/01/02 readers=1", "２０２６-01-02 readers=1",
        String(repeating: "x", count: StatisticsHistory.maxBytes + 1),
    ])
    func `a line that is no day is left out`(text: String) {
        #expect(StatisticsHistory(text).days == [])
    }

    @Test func `counts that can't be read are left out, and the others stay`() {
        let history = StatisticsHistory("2026-01-02 readers=-1 fetchedBytes=x later=7 bytesFromStore=9 = originRequests= readers\n")
        var counts = Statistics()
        counts.bytesFromStore = 9
        #expect(history.days == [DayStatistics(day: "2026-01-02", counts: counts)])
    }

    @Test func `a count beyond the largest number stays the largest`() {
        var most = Statistics()
        most.readers = .max
        var history = StatisticsHistory()
        for _ in 0..<2 { history.add(most, on: "2026-01-02") }
        #expect(history.days.map(\.counts.readers) == [.max])
    }

    @Test func `the oldest days leave when there are too many`() {
        var history = StatisticsHistory()
        let days = (0..<StatisticsHistory.maxDays + 30).map { Timestamp(seconds: Int64($0) * 86_400).dateInUTC }
        for day in days { history.add(Statistics(), on: day) }
        #expect(history.days.map(\.day) == Array(days.suffix(StatisticsHistory.maxDays)))
        #expect(StatisticsHistory(history.text) == history)
    }

    @Test(arguments: [(0, "1970-01-01"), (951_782_400, "2000-02-29"), (1_796_083_199, "2026-11-30"), (-1, "1969-12-31")])
    func `a day is that of UTC`(seconds: Int64, day: String) {
        #expect(Timestamp(seconds: seconds).dateInUTC == day)
    }
}
