import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Closing a cache while bytes are on their way to the disk.
@Suite struct `Closing the cache` {
    private let song = VirtualResource(url: "http://origin.test/song.m4a", seed: 1, length: (1 << 20) + 70_000)
    private var whole: ByteRangeSet { ByteRangeSet([ByteRange(lower: 0, upper: song.length)]) }

    /// Runs a closure when a fetch starts.
    private final class OnFetch: EventSink {
        private let action = Locked<(@Sendable () -> Void)?>(nil)

        func act(_ body: @escaping @Sendable () -> Void) { action.withLock { $0 = body } }

        func record(_ event: CacheEvent) {
            guard case .fetchStarted = event else { return }
            action.withLock { $0 }?()
        }
    }

    /// Closes a cache while one lane's jobs are late, then reopens the store and returns its spans.
    /// A job is late when its thread decided to post it before the close but posts it after.
    private func spansAfterClosing(late lane: (LaneStage) -> BelatedMailbox) throws -> ByteRangeSet {
        let onFetch = OnFetch()
        let stage = try LaneStage([song]) { configuration in
            configuration.events = [onFetch]
            configuration.limits.quotaBytes = nil
            configuration.limits.minimumFreeBytes = nil
        }
        let late = lane(stage)
        onFetch.act { late.delay(true) }
        #expect(try stage.play(song).count == Int(song.length))
        // Everything that is not late is done.
        while stage.simulator.step() {}
        #expect(late.count > 0)
        late.delay(false)
        let isClosed = Locked(false)
        stage.cache.close { isClosed.withLock { $0 = true } }
        while stage.simulator.step() {}
        late.deliver()
        while stage.simulator.step() {}
        #expect(isClosed.withLock { $0 })

        let reopened = try SQLiteStore(directory: "/cache", fileSystem: stage.disk, random: stage.simulator, options: stage.storeOptions)
        defer { try? reopened.close() }
        return try reopened.lookup(ResourceKey(url: song.url))?.spans ?? ByteRangeSet()
    }

    @Test func `closing waits for bytes that a thread was about to pass to the disk`() throws {
        #expect(try spansAfterClosing(late: \.data) == whole)
    }

    @Test func `closing waits for written bytes that a thread was about to enter in the index`() throws {
        #expect(try spansAfterClosing(late: \.index) == whole)
    }
}
