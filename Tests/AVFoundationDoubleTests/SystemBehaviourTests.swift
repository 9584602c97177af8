import AVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The double's model of the system around a player: pauses, rates, stalls, receivers and items
/// that come back.
@Suite(.timeLimit(.minutes(20))) struct SystemBehaviourTests {
    private static func habits(_ change: (inout PlayerHabits) -> Void) -> PlayerHabits {
        var habits = PlayerHabits.small
        change(&habits)
        return habits
    }

    /// The reasons of rate changes that a player reports.
    @MainActor private static func reasons(of player: AVPlayer, during body: () -> Void) -> [String] {
        let seen = Locked<[String]>([])
        let key = AVPlayer.rateDidChangeReasonKey
        let token = NotificationCenter.default.addObserver(
            forName: AVPlayer.rateDidChangeNotification, object: player, queue: nil
        ) { notice in
            guard let reason = notice.userInfo?[key] as? String else { return }
            seen.withLock { $0.append(reason) }
        }
        body()
        NotificationCenter.default.removeObserver(token)
        return seen.withLock { $0 }
    }

    @MainActor @Test func `a call and an interruption have different reasons, and both stop the player`() {
        let bench = PlayBench()
        let reasons = Self.reasons(of: bench.player) {
            bench.app { $0.player.setRate(1) }
            bench.simulator.advance(by: .seconds(3))
            bench.player.pauseBySystem(.audioSessionInterrupted)
            bench.simulator.advance(by: .seconds(3))
        }
        let expected: [AVPlayer.RateDidChangeReason] = [.setRateCalled, .audioSessionInterrupted]
        #expect(reasons == expected.map(\.rawValue))
        #expect(bench.player.state.withLock { $0.timeControlStatus } == .paused)
        #expect(bench.simulated.stallCount == 0)
    }

    @Test func `a new rate of a playing player takes effect without a wait`() {
        let bench = PlayBench()
        bench.app { $0.player.setRate(1) }
        bench.simulator.advance(by: .seconds(3))
        bench.player.setRate(2)
        #expect(bench.player.state.withLock { $0.timeControlStatus } == .playing)
        bench.simulator.runUntilIdle(maxSteps: PlayBench.maxSteps)
        #expect(bench.notifications == ["end"])
    }

    @Test(arguments: [true, false])
    func `a stop at an empty buffer is notified or not, by the habit`(notifies: Bool) {
        let bench = PlayBench(habits: Self.habits { $0.notifiesStalls = notifies })
        bench.player.state.withLock { $0.automaticallyWaitsToMinimizeStalling = false }
        bench.delegate.delay = .seconds(5)
        bench.delegate.chunkBytes = 20_000
        bench.app { $0.player.setRate(1) }
        bench.simulator.advance(by: .seconds(60))
        #expect(bench.simulated.stallCount == 1)
        #expect(bench.player.state.withLock { $0.rate } == 0)
        #expect(bench.notifications.contains("stall") == notifies)
    }

    @Test func `an item of a cancelled asset fails when a player has it again`() throws {
        let bench = PlayBench()
        let item = try #require(bench.player.state.withLock { $0.items.first })
        bench.simulator.advance(by: .seconds(2))
        bench.player.remove(item)
        bench.simulator.advance(by: .seconds(1))
        item.mediaAsset.cancelLoading()
        bench.player.insert(item, after: nil)
        bench.simulator.advance(by: .seconds(2))
        #expect(item.state.withLock { $0.status } == .failed)
    }

    @Test func `an item that was only taken out plays when a player has it again`() throws {
        let bench = PlayBench()
        let item = try #require(bench.player.state.withLock { $0.items.first })
        bench.simulator.advance(by: .seconds(2))
        bench.player.remove(item)
        bench.simulator.advance(by: .seconds(1))
        bench.player.insert(item, after: nil)
        bench.playToEnd()
        #expect(bench.notifications == ["end"])
    }

    @Test func `a receiver gives up on an item that only this device can load`() {
        let bench = PlayBench()
        bench.app { $0.player.setRate(1) }
        bench.simulator.advance(by: .seconds(2))
        bench.player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = true }
        bench.simulator.advance(by: .seconds(10))
        #expect(bench.notifications == ["failed"])
    }

    @Test func `an item begins where it was sought before a player had it`() throws {
        let bench = PlayBench(items: 2)
        let item = try #require(bench.player.state.withLock { $0.items.last })
        bench.player.remove(item)
        bench.simulator.advance(by: .seconds(1))
        let other = AVPlayerItem(of: item.mediaAsset)
        other.state.withLock { $0.startTime = CMTime(seconds: 15, preferredTimescale: 1000) }
        bench.player.insert(other, after: nil)
        bench.player.advanceToNextItem()
        bench.app { $0.player.setRate(1) }
        bench.simulator.advance(by: .seconds(3))
        #expect(other.state.withLock { $0.currentTime.seconds } >= 15)
    }
}
