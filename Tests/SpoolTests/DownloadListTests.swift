import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// The decisions of the list of downloads, on a clock that the test moves.
@Suite struct DownloadListTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    private typealias Action = DownloadList.Action

    private func key(_ name: String) -> ResourceKey { ResourceKey(normalized: "http://origin.test/\(name)") }

    private func list(_ names: String...) -> DownloadList {
        var list = DownloadList()
        list.isStarted = true
        for name in names { _ = list.add(key(name), url: key(name).string, group: "", priority: 0) }
        return list
    }

    @Test func `downloads run in their order, as many at once as the settings allow`() {
        var list = list("a", "b", "c")
        #expect(list.turn(now: Self.start) == [.start(key("a")), .start(key("b"))])
        #expect(list.turn(now: Self.start) == [])
        list.completed(key("a"), bytes: 10)
        #expect(list.turn(now: Self.start) == [.start(key("c"))])
        #expect(list[key("a")]?.state == .complete)
    }

    @Test func `a list has a bound, and a full one refuses a further entry and keeps the others`() {
        var list = DownloadList()
        let count = StoredDownload.maximumCount
        for number in 0..<count { #expect(list.add(key("\(number)"), url: key("\(number)").string, group: "", priority: 0) == true) }
        #expect(list.add(key("one more"), url: key("one more").string, group: "", priority: 0) == false)
        #expect(list[key("one more")] == nil && list.downloads.count == count)
        #expect(list.add(key("7"), url: key("7").string, group: "g", priority: 1) == true)
        #expect(list[key("7")]?.group == "g")
        list.remove(key("0"))
        #expect(list.add(key("one more"), url: key("one more").string, group: "", priority: 0) == true)
        #expect(list.downloads.last?.key == key("one more"))
    }

    @Test func `the speed of a download follows the bytes of the last seconds, and names the remaining time`() {
        var list = list("a")
        _ = list.turn(now: Self.start)
        let total: Int64 = 40_000_000
        for second in 0...4 as ClosedRange<Int64> {
            list.progressed(key("a"), done: second * 2_000_000, total: total, now: Self.start + .seconds(second))
        }
        #expect(list[key("a")]?.bytesPerSecond == 2_000_000)
        #expect(list[key("a")]?.remainingTime == .seconds(16))
        for second in 5...60 as ClosedRange<Int64> {
            list.progressed(key("a"), done: 8_000_000, total: total, now: Self.start + .seconds(second))
        }
        #expect((list[key("a")]?.bytesPerSecond).map { $0 < 1000 } == true, "nothing arrives")
        _ = list.pause(key("a"))
        #expect(list[key("a")]?.bytesPerSecond == nil && list[key("a")]?.remainingTime == nil)
    }

    @Test func `a list that was not started runs nothing, and one that is stopped stops all`() {
        var list = list("a")
        list.isStarted = false
        #expect(list.turn(now: Self.start) == [])
        list.isStarted = true
        #expect(list.turn(now: Self.start) == [.start(key("a"))])
        list.isStarted = false
        #expect(list.turn(now: Self.start) == [.stop(key("a"))])
        #expect(list[key("a")]?.state == .queued)
    }

    @Test func `a higher priority takes the place of a running download`() {
        var list = list("a", "b", "c")
        list.settings.maximumRunning = 1
        #expect(list.turn(now: Self.start) == [.start(key("a"))])
        #expect(list.setPriority(5, of: key("c")) == true)
        #expect(list.turn(now: Self.start) == [.stop(key("a")), .start(key("c"))])
        #expect(list.move(key("b"), to: .first) == true)
        list.completed(key("c"), bytes: 1)
        #expect(list.turn(now: Self.start) == [.start(key("b"))])
    }

    @Test func `a pause stops a download, and it goes on after a resume`() {
        var list = list("a")
        _ = list.turn(now: Self.start)
        #expect(list.pause(key("a")) == true)
        #expect(list[key("a")]?.state == .paused)
        #expect(list.pause(key("a")) == false)
        #expect(list.turn(now: Self.start) == [])
        #expect(list.resume(key("a")) == true)
        #expect(list.turn(now: Self.start) == [.start(key("a"))])
    }

    @Test func `without a network a download waits with the reason, and is tried without an end`() {
        var list = list("a")
        var now = Self.start
        for _ in 0..<100 {
            #expect(list.turn(now: now) == [.start(key("a"))])
            list.ended(key("a"), .network("no route"), now: now, jitter: .max)
            #expect(list[key("a")]?.state == .waitingForNetwork(reason: "no route"))
            let retry = list.nextRetry
            #expect(list.turn(now: now) == [])
            guard let retry else { return }
            #expect(retry - now <= DownloadBackOff.longest)
            now = retry
        }
    }

    @Test func `errors in a row end a download, and new bytes begin the count anew`() {
        var list = list("a")
        var now = Self.start
        func fail(done: Int64) {
            _ = list.turn(now: now)
            list.progressed(key("a"), done: done, total: 100)
            list.ended(key("a"), .temporary("503"), now: now, jitter: 0)
            now = list.nextRetry ?? now
        }
        for _ in 1..<DownloadBackOff.maximumFailures { fail(done: 10) }
        #expect(list[key("a")]?.state == .queued)
        fail(done: 20)
        #expect(list[key("a")]?.state == .queued)
        for _ in 1..<DownloadBackOff.maximumFailures { fail(done: 20) }
        #expect(list[key("a")]?.state == .failed(reason: "503"))
        #expect(list.turn(now: now) == [])
        #expect(list.add(key("a"), url: "http://origin.test/a", group: "", priority: 0) == true)
        #expect(list.turn(now: now) == [.start(key("a"))])
    }

    @Test func `the pauses double up to the longest one, and each lies in its second half`() {
        for failures in 0..<70 {
            let least = DownloadBackOff.pause(afterFailures: failures, jitter: 0)
            let most = DownloadBackOff.pause(afterFailures: failures, jitter: 1023)
            #expect(least >= .seconds(1) && most < 2 * least && most <= DownloadBackOff.longest)
        }
        #expect(DownloadBackOff.pause(afterFailures: 60, jitter: 0) == DownloadBackOff.longest / 2)
    }

    @Test func `a download that leaves no room gets a reason with the numbers`() {
        var list = list("a", "b")
        list.settings.allowanceBytes = 100
        _ = list.turn(now: Self.start)
        list.progressed(key("a"), done: 0, total: 60)
        #expect(list.missingRoom(for: key("a"), freeBytes: 1000) == nil)
        list.progressed(key("b"), done: 0, total: 50)
        #expect(list.missingRoom(for: key("b"), freeBytes: 1000) == "it has 50 bytes, and 40 of the 100 bytes for downloads are left")
        list.settings.allowanceBytes = nil
        #expect(list.missingRoom(for: key("b"), freeBytes: 110) == nil)
        #expect(list.missingRoom(for: key("b"), freeBytes: 109) == "50 of its bytes are missing, and the disk has room for 49")
    }

    @Test func `the store gets back the list that it kept`() {
        var list = list("a", "b", "c", "d", "e")
        list.settings.maximumRunning = 5
        _ = list.turn(now: Self.start)
        #expect(list.setPriority(-3, of: key("b")) == true)
        #expect(list.pause(key("b")) == true)
        list.completed(key("c"), bytes: 7)
        list.ended(key("d"), .permanent("404\nnot found"), now: Self.start, jitter: 0)
        list.ended(key("e"), .network("no route"), now: Self.start, jitter: 0)
        var again = DownloadList()
        for download in list.downloads {
            let stored = list.stored(download.key)
            #expect(stored?.isStorable == true)
            if let stored { again.load(stored, storedBytes: download.doneBytes, isWhole: download.doneBytes == 7) }
        }
        #expect(again.downloads.map(\.key) == list.downloads.map(\.key))
        #expect(again.downloads.map(\.state) == [.queued, .complete, .failed(reason: "404 not found"), .queued, .paused])
        #expect(again[key("b")]?.priority == -3)
    }

    @Test(arguments: [
        "404\r\nstate complete", "404\r", "\u{301}404", "404\u{2028}not\u{0}found", String(repeating: "x", count: 100_000),
    ])
    func `a reason of any text leaves its entry as it is`(reason: String) {
        var list = list("a")
        _ = list.turn(now: Self.start)
        list.ended(key("a"), .permanent(reason), now: Self.start, jitter: 0)
        let stored = list.stored(key("a"))
        #expect(stored?.isStorable == true)
        var again = DownloadList()
        if let stored { again.load(stored, storedBytes: 0, isWhole: false) }
        #expect(again[key("a")]?.url == list[key("a")]?.url)
        #expect(again[key("a")]?.state.name == "failed" && again[key("a")]?.state.reason?.isEmpty == false)
    }

    @Test func `a finished download that lost bytes is queued again`() {
        var list = list("a")
        _ = list.turn(now: Self.start)
        list.completed(key("a"), bytes: 7)
        var again = DownloadList()
        if let stored = list.stored(key("a")) { again.load(stored, storedBytes: 3, isWhole: false) }
        #expect(again[key("a")]?.state == .queued)
    }

    // MARK: Rate

    @Test(arguments: [1000, 250_000, 50 << 20] as [Int64])
    func `a rate holds over a minute`(limit: Int64) {
        var pace = DownloadPace()
        var (now, total, fetched) = (Self.start, Int64(0), Int64(0))
        for _ in 0..<600 {
            let mayRun = pace.mayRun(fetched: fetched, limit: limit, now: now)
            // The link brings four times the rate.
            fetched = mayRun ? limit * 4 / 10 : 0
            total += fetched
            now = now + .milliseconds(100)
        }
        #expect(Double(total) / Double(limit * 60) > 0.95 && Double(total) / Double(limit * 60) < 1.05)
        #expect(pace.mayRun(fetched: 1 << 40, limit: nil, now: now) == true)
    }

    // MARK: Histories

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `in random histories no rule of the list is broken`(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        var list = list()
        list.isStarted = true
        var now = Self.start
        var running: Set<ResourceKey> = []
        for _ in 0..<300 {
            now = now + Nanoseconds(random.next(below: 3_000_000_000))
            change(&list, random, now, running)
            for action in list.turn(now: now) {
                switch action {
                case .start(let key):
                    let isNew = running.insert(key).inserted
                    #expect(isNew, "started twice, seed \(seed)")
                case .stop(let key): running.remove(key)
                }
            }
            // The shell stops the transfers of downloads that do not run any more.
            running = running.filter { list[$0]?.state == .running }
            #expect(Set(list.downloads.filter { $0.state == .running }.map(\.key)) == running, "seed \(seed)")
            #expect(running.count <= list.settings.maximumRunning, "seed \(seed)")
            let waiting = list.downloads.filter { $0.state == .queued && $0.lastError == nil }
            let least = list.downloads.filter { $0.state == .running }.map(\.priority).min()
            if list.isStarted, running.count < list.settings.maximumRunning {
                #expect(waiting.isEmpty, "a slot is free and a download waits, seed \(seed)")
            } else if list.isStarted, let least {
                #expect(waiting.allSatisfy { $0.priority <= least }, "seed \(seed)")
            }
        }
        // Everything ends once nothing disturbs it.
        list.isStarted = true
        for key in list.keys(group: nil) { list.resume(key) }
        for _ in 0..<100 {
            _ = list.turn(now: now)
            for download in list.downloads where download.state == .running { list.completed(download.key, bytes: 1) }
        }
        #expect(list.downloads.allSatisfy { $0.state == .complete }, "seed \(seed)")
    }

    private func change(_ list: inout DownloadList, _ random: SeededRandom, _ now: MonotonicInstant, _ running: Set<ResourceKey>) {
        let key = key("\(random.next(below: 12))")
        switch random.next(below: 12) {
        case 0, 1, 2: _ = list.add(key, url: key.string, group: "g", priority: Int(random.next(below: 3)))
        case 3: _ = list.pause(key)
        case 4: list.resume(key)
        case 5: list.remove(key)
        case 6: _ = list.setPriority(Int(random.next(below: 5)), of: key)
        case 7: _ = list.move(key, to: random.chance(1, in: 2) ? .first : .last)
        case 8: list.settings.maximumRunning = 1 + Int(random.next(below: 4))
        case 9: list.isStarted = !random.chance(1, in: 4)
        default:
            guard running.contains(key) else { return }
            list.progressed(key, done: Int64(random.next(below: 100)), total: 100)
            switch random.next(below: 4) {
            case 0: list.completed(key, bytes: 100)
            case 1: list.ended(key, .network("away"), now: now, jitter: random.next())
            case 2: list.ended(key, .temporary("503"), now: now, jitter: random.next())
            default: list.ended(key, .permanent("404"), now: now, jitter: random.next())
            }
        }
    }
}
