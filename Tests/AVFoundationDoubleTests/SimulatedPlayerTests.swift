import AVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The simulated player makes the request patterns of docs/traces, and a correct delegate causes no
/// breach.
@Suite struct SimulatedPlayerTests {
    private static func habits(_ change: (inout PlayerHabits) -> Void) -> PlayerHabits {
        var habits = PlayerHabits.small
        change(&habits)
        return habits
    }

    private static func expectPlayed(_ bench: PlayBench) {
        #expect(bench.world.journal.breaches == [])
        #expect(bench.notifications.last == "end", "\(bench.feeder.transcript.text)")
        #expect(bench.feeder.openAskCount == 0)
    }

    @Test func `T1: a player probes, reads to the end, cancels when far ahead, and asks again from a page's start`() {
        let bench = PlayBench()
        bench.playToEnd()
        Self.expectPlayed(bench)
        let requests = bench.requests
        #expect(requests.prefix(2) == ["I+ @0+2", "@0+1000000 E"])
        #expect(requests.count > 3)
        #expect(bench.feeder.cancelCount == requests.count - 2)
        for request in requests.dropFirst(2) {
            let offset = Int64(request.dropFirst().split(separator: "+")[0]) ?? -1
            #expect(offset % 65_536 == 0 && request.hasSuffix(" E"), "\(request)")
        }
        #expect(bench.feeder.delivered.ranges == [ByteRange(0, 1_000_000)])
    }

    @Test func `T1b: a greedy player takes everything at once`() {
        let bench = PlayBench(habits: Self.habits { $0.isGreedy = true })
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.asked == ["I+ @0+2", "→2 ✓", "@0+1000000 E", "→1000000 ✓"])
    }

    @Test func `T1c: a player drops its first request to the end and repeats it`() {
        let bench = PlayBench(habits: Self.habits { ($0.startsTwice, $0.isGreedy) = (true, true) })
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.asked[2...3] == ["@0+1000000 E", "→64000 ✗"])
        #expect(bench.requests.count == 3)
    }

    @Test func `T1L: a player of iOS 12 reads a few pages first`() {
        let bench = PlayBench(habits: Self.habits { ($0.legacyProbes, $0.isGreedy) = (3, true) })
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(
            bench.requests == ["I+ @0+2", "@0+65536", "@65536+65536", "@131072+65536", "@196608+803392 E"])
    }

    @Test(arguments: PlayerHabits.CancelOrder.allCases)
    func `T2: a seek cancels the old request before the new one, after it, or never`(order: PlayerHabits.CancelOrder) {
        let bench = PlayBench(habits: Self.habits { ($0.cancelOrder, $0.isGreedy) = (order, true) })
        bench.delegate.delay = .milliseconds(200)
        bench.app(after: .seconds(1)) { $0.player.seek(to: CMTime(seconds: 15, preferredTimescale: 1000)) }
        bench.playToEnd()
        Self.expectPlayed(bench)
        let new = bench.asked.firstIndex(of: "@720896+279104 E")
        let old = bench.asked.firstIndex { $0.hasSuffix("✗") }
        switch order {
        case .cancelFirst: #expect(old == new.map { $0 - 1 })
        case .newFirst: #expect(old == new.map { $0 + 1 })
        case .never:
            #expect(old == nil && new != nil)
            #expect(bench.feeder.unwantedBytes > 0)
        }
    }

    @Test func `T2: a seek to the end ends the item`() {
        let bench = PlayBench()
        let isDone = Outcome()
        bench.app(after: .seconds(2)) { bench in
            bench.player.seek(to: CMTime(seconds: 20, preferredTimescale: 1000)) { isDone.value = $0 }
        }
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(isDone.value == true)
    }

    @Test func `T3: a player reads box headers eight bytes at a time`() {
        let bench = PlayBench(.fastStart, habits: Self.habits { ($0.boxReads, $0.isGreedy) = (2, true) })
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.requests == ["I+ @0+2", "@0+8", "@32+8", "@0+1000000 E"])
    }

    @Test(arguments: [true, false])
    func `T4: a player asks early for an index at the end`(inParallel: Bool) {
        let bench = PlayBench(.indexAtEnd, habits: Self.habits { $0.readsTailInParallel = inParallel })
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.requests.prefix(3) == ["I+ @0+2", "@0+1000000 E", "@980000+20000 E"])
        #expect(bench.asked[3].hasSuffix("✗") != inParallel)
    }

    @Test func `T5: a paused player reads until it has enough, then asks no more`() {
        let bench = PlayBench()
        bench.app(after: .milliseconds(1)) { $0.player.setRate(0) }
        bench.app(after: .seconds(600)) { $0.player.setRate(1) }
        bench.playToEnd()
        Self.expectPlayed(bench)
        let times = bench.feeder.transcript.lines.compactMap { Double($0.split(separator: " ")[0]) }
        #expect(!times.contains { $0 > 5 && $0 < 600 })
    }

    @Test func `T6: a player opens the next item in advance, and an advance cancels nothing`() {
        let bench = PlayBench(habits: Self.habits { $0.isGreedy = true }, items: 2)
        bench.delegate.delay = .milliseconds(300)
        bench.app { $0.player.setRate(1) }
        bench.simulator.runUntilIdle(maxSteps: PlayBench.maxSteps)
        #expect(bench.world.journal.breaches == [])
        #expect(bench.notifications == ["end", "end"])
        #expect(bench.transcript(of: 1).prefix(4) == ["I+ @0+2", "→2 ✓", "@0+1000000 E", "→256000 ✗"])
    }

    @Test func `T6: an item opened in advance with too few bytes asks for more at its turn`() {
        let bench = PlayBench(habits: Self.habits { ($0.lowWaterBytes, $0.prebufferBytes) = (70_000, 65_536) }, items: 2)
        // In small pieces, so that the player cancels its request as soon as it has enough in
        // advance.
        (bench.delegate.chunkBytes, bench.delegate.delay) = (2000, .milliseconds(1))
        bench.app { $0.player.setRate(1) }
        bench.simulator.runUntilIdle(maxSteps: PlayBench.maxSteps)
        #expect(bench.world.journal.breaches == [])
        #expect(bench.notifications == ["end", "end"])
    }

    @Test func `T6: an advance in the middle leaves the request open until the item is released`() {
        let bench = PlayBench(habits: Self.habits { $0.isGreedy = true }, items: 2)
        bench.delegate.delay = .milliseconds(300)
        bench.app { $0.player.setRate(1) }
        bench.simulator.advance(by: .seconds(2))
        #expect(bench.feeder.openAskCount == 1)
        let old = bench.player.state.withLock { $0.items[0] }
        bench.player.advanceToNextItem()
        bench.simulator.advance(by: .milliseconds(700))
        #expect(bench.delegate.cancelled == [] && bench.feeder.openAskCount == 1)
        withExtendedLifetime(old) {}
    }

    @Test func `T7: a player makes small requests just in time when every byte is available`() {
        let bench = PlayBench()
        bench.delegate.isEverythingAtHand = true
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.requests.dropFirst(2).allSatisfy { !$0.hasSuffix("E") })
        #expect(bench.requests.count > 10)
    }

    @Test func `T8: a player asks again after a network loss, and goes on`() {
        let bench = PlayBench(habits: Self.habits { $0.retries = 3 })
        bench.delegate.delay = .milliseconds(100)
        bench.app(after: .seconds(2)) { $0.delegate.setOffline(true) }
        bench.app(after: .milliseconds(4500)) { $0.delegate.setOffline(false) }
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.asked.contains { $0.hasSuffix("! NSURLErrorDomain -1009") })
    }

    @Test func `T8: a player without retries left stalls, and goes on when the app plays again`() {
        let bench = PlayBench(habits: Self.habits { ($0.retries, $0.afterRetries) = (0, .waits) })
        bench.player.state.withLock { $0.automaticallyWaitsToMinimizeStalling = false }
        bench.delegate.delay = .milliseconds(100)
        bench.app(after: .seconds(1)) { $0.delegate.setOffline(true) }
        bench.app(after: .seconds(60)) { bench in
            bench.delegate.setOffline(false)
            #expect(bench.player.state.withLock { $0.timeControlStatus } == .paused)
            bench.player.setRate(1)
        }
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.notifications == ["stall", "end"])
    }

    @Test func `T8: an item without retries left fails, with the cause beneath`() {
        let bench = PlayBench(habits: Self.habits { $0.retries = 0 })
        bench.delegate.delay = .milliseconds(100)
        bench.app(after: .seconds(1)) { $0.delegate.setOffline(true) }
        bench.playToEnd()
        #expect(bench.notifications == ["failed"])
        #expect(bench.feeder.lastError?.code == NSURLErrorNotConnectedToInternet)
        guard case .failed(let error) = bench.feeder.phase else { return unexpected(bench.feeder.phase) }
        #expect(error.code == AVError.Code.unknown.rawValue && error.domain == AVFoundationErrorDomain)
    }

    @Test func `T9: a player makes the same request near the end twice`() {
        let bench = PlayBench(length: 100_000, habits: Self.habits { $0.repeatsTail = true })
        bench.delegate.chunkBytes = 10_000
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.requests == ["I+ @0+2", "@0+100000 E", "@0+100000 E"])
    }

    @Test func `T11: a player asks for the content information three times at once`() {
        let bench = PlayBench(habits: Self.habits { $0.duplicateInformation = 2 })
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.requests.prefix(3) == ["I+ @0+2", "I+ @0+2", "I+ @0+2"])
    }

    @Test func `T12: a player reads distant tracks with two requests side by side`() {
        let bench = PlayBench(.tracksApart)
        bench.delegate.delay = .milliseconds(100)
        bench.playToEnd()
        Self.expectPlayed(bench)
        #expect(bench.requests.contains("@458752+541248 E"))
    }

    @Test func `a redirect of the content information is followed or fails the item`() {
        for follows in [true, false] {
            let bench = PlayBench(habits: Self.habits { $0.followsRedirects = follows })
            bench.delegate.redirect = URL(string: bench.resource.url)
            bench.playToEnd()
            #expect(bench.world.journal.breaches == [])
            switch bench.feeder.phase {
            case .direct(let url): #expect(follows && url.absoluteString == bench.resource.url)
            case .failed: #expect(!follows)
            default: unexpected(bench.feeder.phase)
            }
        }
    }

    @Test func `a URL that the system loads itself reaches the delegate only with that habit`() {
        for asks in [true, false] {
            let bench = PlayBench(habits: Self.habits { $0.asksForHTTP = asks }, url: "https://origin.test/song.mp3")
            bench.playToEnd()
            #expect(bench.delegate.asked.isEmpty != asks)
        }
    }

    @Test func `a player that requires ranges does not play without them`() {
        let bench = PlayBench(habits: Self.habits { $0.demandsRanges = true })
        bench.delegate.supportsRanges = false
        bench.playToEnd()
        #expect(bench.feeder.lastError?.code == AVError.Code.serverIncorrectlyConfigured.rawValue)
    }

    @Test func `removing an item cancels its request`() {
        let bench = PlayBench(habits: Self.habits { $0.isGreedy = true })
        bench.delegate.delay = .milliseconds(500)
        bench.simulator.advance(by: .seconds(3))
        #expect(bench.feeder.openAskCount == 1)
        bench.player.replaceCurrentItem(with: nil)
        bench.simulator.runUntilIdle(maxSteps: PlayBench.maxSteps)
        #expect(bench.delegate.cancelled == [2])
        #expect(bench.world.journal.breaches == [])
    }

    @Test func `cancelling an asset's loading ends its requests and no others`() {
        let bench = PlayBench(habits: Self.habits { $0.isGreedy = true }, items: 2)
        bench.delegate.delay = .milliseconds(100)
        bench.simulator.advance(by: .milliseconds(500))
        bench.player.state.withLock { $0.items[1] }.mediaAsset.cancelLoading()
        bench.simulator.advance(by: .milliseconds(10))
        #expect(bench.delegate.cancelled == [])
        bench.player.state.withLock { $0.items[0] }.mediaAsset.cancelLoading()
        bench.simulator.advance(by: .milliseconds(10))
        #expect(bench.delegate.cancelled == [2])
        #expect(bench.feeder.lastError?.code == AVError.Code.operationCancelled.rawValue)
    }

    @Test(.timeLimit(.minutes(20)))
    func `a simulated player with any habits plays to the end without a breach by a correct delegate`() {
        for seed in Seeds.list(count: 300) {
            let random = Simulator(seed: seed)
            let length = random.pick([1...3, 1000...100_000, 500_000...2_000_000].map { random.number(in: $0) })
            let kind = random.pick(SimulatedMedia.Kind.allCases)
            let bench = PlayBench(length: length, kind, habits: .random(length: length, using: random), seed: seed)
            bench.delegate.chunkBytes = Int(random.number(in: 500...100_000))
            bench.delegate.delay = .milliseconds(random.number(in: 0...300))
            bench.delegate.isEverythingAtHand = random.chance(1, in: 6)
            for _ in 0..<random.number(in: 0...5) {
                let target = Double(random.number(in: 0...20))
                bench.app(after: .milliseconds(random.number(in: 0...20_000))) {
                    $0.player.seek(to: CMTime(seconds: target, preferredTimescale: 1000))
                }
            }
            bench.playToEnd()
            let isPlayed = bench.notifications.last == "end" && bench.feeder.openAskCount == 0
            if !isPlayed || !bench.world.journal.breaches.isEmpty {
                let story = "\(bench.world.journal.breaches) \(bench.notifications) \(bench.feeder.phase)\n\(bench.feeder.transcript.text)"
                Issue.record("\(bench.simulator.report(story))")
                return
            }
        }
    }
}

/// Holds the result of a completion.
final class Outcome: @unchecked Sendable {
    // Sendable for the jobs of the simulator, all of which run on one thread.
    var value: Bool?
}
