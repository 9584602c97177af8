import SpoolCore
import Testing

/// Tests which origin request starts when there are more requests than slots.
@Suite struct FetchQueueTests {
    @Test func `the most urgent request starts first, equally urgent ones in order of arrival`() {
        var queue = FetchQueue(total: 10, perHost: 1)
        let running = queue.submitted(host: "a", priority: .playing, sequence: 0)
        let download = queue.submitted(host: "a", priority: .prefetch, sequence: 0)
        let next = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        let first = queue.submitted(host: "a", priority: .playing, sequence: 0)
        let second = queue.submitted(host: "a", priority: .playing, sequence: 0)
        #expect(queue.active.map(\.id) == [running])
        var order: [UInt64] = []
        var ended = running
        while let started = queue.finished(ended).first {
            order.append(started)
            ended = started
        }
        #expect(order == [first, second, next, download])
    }

    @Test func `requests for later leave two slots per host and one in total for playing`() {
        var queue = FetchQueue(total: 4, perHost: 4)
        for _ in 0..<3 { _ = queue.submitted(host: "a", priority: .upcoming, sequence: 0) }
        #expect(queue.active.count == 2)
        let playing = queue.submitted(host: "a", priority: .playing, sequence: 0)
        #expect(queue.active.last?.id == playing)
        // In total: prefetches and upcoming items may use three of the four slots.
        _ = queue.submitted(host: "b", priority: .prefetch, sequence: 0)
        #expect(queue.active.count == 4)
        var other = FetchQueue(total: 4, perHost: 3)
        for host in ["a", "b", "c", "d"] { _ = other.submitted(host: host, priority: .prefetch, sequence: 0) }
        #expect(other.active.map(\.host) == ["a", "b", "c"])
        // A single slot is open to every priority.
        var single = FetchQueue(total: 1, perHost: 1)
        #expect(single.submitted(host: "a", priority: .prefetch, sequence: 0) == single.active.first?.id)
    }

    @Test func `an item that starts to play overtakes earlier requests, and late changes are ignored`() {
        var queue = FetchQueue(total: 10, perHost: 1)
        let running = queue.submitted(host: "a", priority: .playing, sequence: 0)
        let earlier = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        let item = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        #expect(queue.prioritized(item, .playing, sequence: 2) == [])
        #expect(queue.prioritized(item, .prefetch, sequence: 1) == [])
        #expect(queue.finished(running) == [item])
        #expect(queue.finished(item) == [earlier])
    }

    @Test func `an item that starts to play takes the slot kept for playing`() {
        var queue = FetchQueue(total: 10, perHost: 2)
        let first = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        let second = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        #expect(queue.active.map(\.id) == [first])
        #expect(queue.prioritized(second, .playing, sequence: 1) == [second])
    }

    @Test func `the least urgent requests are preempted first, and only where that helps`() {
        var queue = FetchQueue(total: 10, perHost: 4)
        let playing = queue.submitted(host: "a", priority: .playing, sequence: 0)
        let other = queue.submitted(host: "b", priority: .prefetch, sequence: 0)
        let next = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        let download = queue.submitted(host: "a", priority: .prefetch, sequence: 0)
        #expect(queue.preemptible == [])
        // Another upcoming request waits for one of the slots open to it, whatever is playing.
        let late = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        #expect(queue.preemptible == [download, next])
        #expect(queue.finished(playing) == [])
        #expect(queue.preemptible == [download, next])
        #expect(queue.finished(late) == [] && queue.preemptible == [])
        withExtendedLifetime(other) {}
    }

    @Test func `a request whose answer is late keeps no other of its host waiting, up to a bound`() {
        var queue = FetchQueue(total: 100, perHost: 2)
        var late: [UInt64] = []
        for _ in 0..<10 {
            let id = queue.submitted(host: "a", priority: .playing, sequence: 0)
            guard queue.active.last?.id == id else { break }
            _ = queue.late(id, true)
            late.append(id)
        }
        #expect(late.count == 8)
        let waiting = queue.queue[0].id
        #expect(queue.finished(late[0]) == [waiting])
        // An answered request counts again.
        let next = queue.submitted(host: "a", priority: .playing, sequence: 0)
        #expect(queue.late(late[1], false) == [])
        #expect(queue.finished(late[2]) == [])
        #expect(queue.finished(waiting) == [next])
    }

    @Test func `a held host gets no request until it is released as often as held`() {
        var queue = FetchQueue(total: 10, perHost: 2)
        queue.hold("a")
        queue.hold("a")
        let waiting = queue.submitted(host: "a", priority: .playing, sequence: 0)
        #expect(queue.active.isEmpty && queue.preemptible == [])
        #expect(queue.release("a") == [] && queue.release("a") == [waiting] && queue.release("a") == [])
    }

    @Test func `a request that the network policy holds waits, and keeps no other of its host waiting`() {
        var queue = FetchQueue(total: 10, perHost: 1)
        let running = queue.submitted(host: "a", priority: .prefetch, sequence: 0)
        let held = queue.submitted(host: "a", priority: .playing, sequence: 0, isHeld: true)
        let permitted = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        #expect(queue.setHeld(running, true) == [permitted])
        #expect(queue.finished(permitted) == [])
        #expect(queue.setHeld(held, false) == [held])
        #expect(queue.preemptible == [])
    }

    /// A player moves on to the next item, and the requests of the last one are less urgent from then
    /// on. They pause for the player, which waits for a slot: none of them would ever go on.
    @Test func `requests that pause for a player keep no request for playback waiting, up to a bound`() {
        var queue = FetchQueue(total: 64, perHost: 2)
        let later = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        let last = queue.submitted(host: "a", priority: .playing, sequence: 0)
        let playing = queue.submitted(host: "a", priority: .playing, sequence: 0)
        let next = queue.submitted(host: "a", priority: .upcoming, sequence: 0)
        #expect(queue.prioritized(last, .upcoming, sequence: 1) == [])
        #expect(queue.setHeld(later, true, keepsSlot: true) == [playing])
        #expect(queue.setHeld(last, true, keepsSlot: true) == [])
        #expect(queue.queue.map(\.id) == [next], "less urgent requests find no slot")
        #expect(queue.submitted(host: "a", priority: .playing, sequence: 0) == queue.active.last?.id)
        #expect(queue.setHeld(later, false) == [] && queue.setHeld(last, false) == [])
        // A user who skips through a queue leaves one such request behind for each item.
        for number in 0..<20 {
            let id = queue.submitted(host: "b", priority: .playing, sequence: 0)
            _ = queue.prioritized(id, .upcoming, sequence: 1)
            _ = queue.setHeld(id, true, keepsSlot: true)
            #expect(queue.active.count { $0.host == "b" } == min(number + 1, 8))
        }
    }

    @Test func `random queues exceed no limit, lose no request and leave no usable slot empty`() {
        for seed in UInt64(1)...200 {
            var numbers = SeededGenerator(seed: seed)
            let (total, perHost) = (Int.random(in: 1...8, using: &numbers), Int.random(in: 1...4, using: &numbers))
            var queue = FetchQueue(total: total, perHost: perHost)
            var open: Set<UInt64> = []
            for step in 0..<200 {
                let priority = [ReadPriority.prefetch, .upcoming, .playing].randomElement(using: &numbers) ?? .playing
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0, 1:
                    open.insert(queue.submitted(host: ["a", "b"].randomElement(using: &numbers) ?? "a", priority: priority, sequence: 0))
                case 2:
                    guard let id = open.sorted().randomElement(using: &numbers) else { continue }
                    open.remove(id)
                    _ = queue.finished(id)
                default:
                    guard let id = open.sorted().randomElement(using: &numbers) else { continue }
                    _ = queue.prioritized(id, priority, sequence: UInt64(step + 1))
                }
                #expect(Set(queue.active.map(\.id) + queue.queue.map(\.id)) == open)
                #expect(queue.active.count <= total)
                for host in ["a", "b"] {
                    let count = queue.active.count { $0.host == host }
                    #expect(count <= perHost)
                    let hasRoom = count < perHost && queue.active.count < total
                    #expect(!hasRoom || !queue.queue.contains { $0.host == host && $0.priority == .playing })
                }
            }
        }
    }
}
