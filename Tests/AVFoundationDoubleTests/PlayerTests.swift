import AVFoundation
import SpoolSystem
import Testing

/// The players of the double keep their state and report changes.
@MainActor @Suite struct PlayerTests {
    private static func item() -> AVPlayerItem { AVPlayerItem(asset: AVURLAsset(url: LoaderBench.url)) }

    @Test func `a queue plays its items in order and releases played ones`() {
        let items = (0..<3).map { _ in Self.item() }
        let player = AVQueuePlayer(items: [items[0], items[1]])
        #expect(player.currentItem === items[0] && player.actionAtItemEnd == .advance)
        #expect(player.canInsert(items[2], after: items[0]) && !player.canInsert(items[1], after: nil))
        player.insert(items[2], after: items[0])
        #expect(player.items() == [items[0], items[2], items[1]])
        player.advanceToNextItem()
        player.remove(items[1])
        #expect(player.items() == [items[2]])
        player.replaceCurrentItem(with: items[0])
        #expect(player.items() == [items[0]])
        player.removeAllItems()
        #expect(player.currentItem == nil)
    }

    @Test func `an observer is called for each change until its token is released`() {
        let player = AVPlayer(playerItem: Self.item())
        let heard = Locked<[String]>([])
        var tokens = [
            player.observe(\.rate, options: [.initial, .new]) { _, change in
                heard.withLock { $0.append("rate \(change.newValue ?? -1)") }
            },
            player.observe(\.timeControlStatus) { player, _ in
                heard.withLock { $0.append("status \(player.timeControlStatus.rawValue)") }
            },
        ]
        player.play()
        #expect(heard.withLock { $0 } == ["rate 0.0", "rate 1.0", "status 1"])
        #expect(player.reasonForWaitingToPlay == .evaluatingBufferingRate)
        tokens = []
        player.pause()
        #expect(heard.withLock { $0.count } == 3)
        withExtendedLifetime(tokens) {}
    }

    @Test func `a looper keeps copies in the queue that share the loader`() {
        let asset = AVURLAsset(url: LoaderBench.url)
        let player = AVQueuePlayer()
        let looper = AVPlayerLooper(player: player, templateItem: AVPlayerItem(asset: asset))
        #expect(player.items().count == AVPlayerLooper.copyCount)
        #expect(player.items().allSatisfy { ($0.asset as? AVURLAsset)?.resourceLoader === asset.resourceLoader })
        player.advanceToNextItem()
        #expect(looper.loopCount == 1 && player.items().count == AVPlayerLooper.copyCount)
        looper.disableLooping()
        player.advanceToNextItem()
        #expect(player.items().isEmpty)
    }

    @Test func `an item cannot be in a player twice`() async {
        await #expect(processExitsWith: .failure) {
            await MainActor.run {
                let item = AVPlayerItem(url: URL(fileURLWithPath: "/"))
                let player = AVQueuePlayer(items: [item])
                player.insert(item, after: nil)
            }
        }
    }

    @Test func `a looper puts its copies before the items that are there, and restores the player`() {
        let player = AVQueuePlayer(items: [Self.item()])
        player.actionAtItemEnd = .pause
        player.rate = 1.5
        let looper = AVPlayerLooper(player: player, templateItem: Self.item())
        #expect(Array(player.items().prefix(AVPlayerLooper.copyCount)) == looper.loopingPlayerItems)
        #expect(player.items().count == AVPlayerLooper.copyCount + 1)
        #expect(player.actionAtItemEnd == .advance && player.rate == 1.5 && looper.status == .ready)
        looper.disableLooping()
        #expect(player.items().count == 2 && player.actionAtItemEnd == .pause && looper.status == .cancelled)
    }

    @Test func `a queue may be changed on any thread`() async {
        let player = AVQueuePlayer(items: [Self.item()]), item = Self.item()
        await Task.detached { player.insert(item, after: nil) }.value
        #expect(player.items().count == 2)
        await Task.detached { player.removeAllItems() }.value
        #expect(player.items().isEmpty)
    }

    @Test func `an item of another player raises an exception`() async {
        await #expect(processExitsWith: .failure) {
            let item = AVPlayerItem(url: URL(fileURLWithPath: "/"))
            let first = AVPlayer(playerItem: item), second = AVQueuePlayer()
            second.insert(item, after: nil)
            withExtendedLifetime(first) {}
        }
    }

    @Test func `a seek of an item that is not ready raises an exception with a handler`() async {
        AVPlayerItem(url: URL(fileURLWithPath: "/")).seek(to: .zero)
        await #expect(processExitsWith: .failure) {
            AVPlayerItem(url: URL(fileURLWithPath: "/")).seek(to: .zero) { _ in }
        }
        await #expect(processExitsWith: .failure) {
            AVPlayerItem(url: URL(fileURLWithPath: "/")).seek(to: .invalid)
        }
    }

    @Test func `a player without a queue raises an exception when it should advance`() async {
        await #expect(processExitsWith: .failure) { AVPlayer().actionAtItemEnd = .advance }
    }

    @Test func `a simulated player's changes reach the app's observers`() {
        let bench = PlayBench()
        let heard = Locked<[String]>([])
        let item = bench.player.items()[0]
        let tokens = [
            item.observe(\.status) { item, _ in
                let status = item.state.withLock { $0.status }
                heard.withLock { $0.append("item \(status)") }
            },
            bench.player.observe(\.timeControlStatus) { player, _ in
                let status = player.state.withLock { $0.timeControlStatus }
                heard.withLock { $0.append("player \(status)") }
            },
            bench.player.observe(\.currentItem) { _, _ in heard.withLock { $0.append("next") } },
        ]
        bench.playToEnd()
        #expect(
            heard.withLock { $0 } == ["player waitingToPlayAtSpecifiedRate", "item readyToPlay", "player playing", "next"])
        #expect(item.duration.seconds == 20 && item.currentTime().seconds == 20)
        withExtendedLifetime(tokens) {}
    }
}
