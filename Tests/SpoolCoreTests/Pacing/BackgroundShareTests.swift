import SpoolCore
import Testing

/// How preloads and downloads run beside players, on a clock that the test moves.
@Suite struct BackgroundShareTests {
    private typealias Share = BackgroundShare

    private static let start = MonotonicInstant(nanoseconds: 5_000_000_000)

    /// A link on which a player takes a part of each millisecond, and others what is left.
    private struct Link {
        var share: Share
        var now = BackgroundShareTests.start
        var bytesPerMillisecond = 8192.0
        /// The bytes of the others in each millisecond.
        var others: [Double] = []
        private var deadline: MonotonicInstant?

        init(_ share: Double = 0.5) { self.share = Share(share: share) }

        mutating func need(_ need: Share.Need, of resource: UInt64 = 1, at host: String = "a") {
            share.playersChanged(of: resource, at: host, need, now: now)
            deadline = share.deadline
        }

        /// Lets time pass. The player takes this part of the link while it needs bytes.
        mutating func pass(_ time: Nanoseconds, ofPlayer: Double = 0) {
            for _ in 0..<time / .milliseconds(1) {
                let player = bytesPerMillisecond * ofPlayer
                let rest = share.allowance > 0 ? bytesPerMillisecond - player : 0
                others.append(rest)
                let isPlayersDue = share.received(Int(player), forPlayer: true), isDue = share.received(Int(rest), forPlayer: false)
                now = now + .milliseconds(1)
                guard isPlayersDue || isDue || deadline.map({ $0 <= now }) == true else { continue }
                share.timePassed(now: now)
                deadline = share.deadline
            }
        }

        /// The part of the link that the others had.
        var part: Double { others.reduce(0, +) / (bytesPerMillisecond * Double(others.count)) }
    }

    @Test func `without players nothing pauses, and no timer runs`() {
        let share = Share(share: 0.5)
        #expect(share.allowance == .max && share.deadline == nil)
    }

    @Test func `others pause in the event by which a player becomes short, and a moment longer`() {
        var link = Link()
        link.need(.urgent)
        #expect(link.share.allowance == 0)
        link.pass(.milliseconds(10))
        link.need(.nothing)
        link.pass(Share.calm - .milliseconds(1))
        #expect(link.share.allowance == 0)
        link.pass(.milliseconds(1))
        #expect(link.share.allowance == .max && link.part == 0)
    }

    @Test func `others stay back until what a player reads ahead has arrived`() {
        var link = Link()
        link.need(.urgent)
        link.pass(.milliseconds(10))
        link.need(.bytes)
        link.pass(Share.calm + .milliseconds(1), ofPlayer: 1)
        #expect(link.share.allowance == 0)
        link.need(.nothing)
        link.pass(Share.draining - .milliseconds(1))
        #expect(link.share.allowance == 0)
        link.pass(.milliseconds(1))
        #expect(link.share.allowance == .max && link.share.deadline == nil)
        // The player took some of it, and its fetch goes on.
        link.need(.bytes)
        #expect(link.share.allowance == 0)
    }

    @Test func `short pauses of a player's fetch hold others for a bounded time`() {
        var link = Link()
        let pause = Share.draining / 2
        for step in 0..<Share.filling / pause + 1 {
            link.need(step % 2 == 0 ? .bytes : .nothing)
            link.pass(pause, ofPlayer: 1)
        }
        #expect(link.share.allowance != 0)
        link.need(.urgent)
        link.need(.bytes)
        #expect(link.share.allowance == 0, "a seek makes what the player reads ahead come first again")
    }

    @Test(arguments: [0.1, 0.25, 0.5, 0.9], [0.0, 0.2, 0.6])
    func `beside a player that takes all that comes, others have their share of a link`(limit: Double, ofPlayer: Double) {
        var link = Link(limit)
        link.need(.bytes)
        link.pass(Share.filling, ofPlayer: ofPlayer)
        link.others = []
        link.pass(.seconds(60), ofPlayer: ofPlayer)
        let most = min(limit, 1 - ofPlayer)
        #expect(link.part <= most * 1.05 && link.part >= most * 0.9)
    }

    /// A download that stood still for a player would stand still for ever beside a web radio.
    @Test func `while a player is short, one request has a fortieth of the link`() {
        var link = Link()
        link.need(.bytes)
        link.pass(Share.filling + .seconds(10))
        link.others = []
        // Each wait has a host of its own, so no credit is spent.
        for host in 0..<15 {
            link.need(.urgent, of: 2, at: "\(host)")
            #expect(link.share.allowance <= 1)
            link.pass(.seconds(4))
            link.need(.nothing, of: 2, at: "\(host)")
        }
        #expect(link.part >= 0.02 && link.part < 0.1)
    }

    @Test(arguments: [0.002, 0.5]) func `a player that waits all the time stops others for its credit only`(ofPlayer: Double) {
        var link = Link()
        // A web radio waits for each packet, and so does a client that is faster than its origin.
        for _ in 0..<200 {
            link.need(.urgent)
            link.pass(.milliseconds(99), ofPlayer: ofPlayer)
            link.need(.bytes)
            link.pass(.milliseconds(1), ofPlayer: ofPlayer)
        }
        let after = Int((Share.credit + Share.calm + Share.draining) / .milliseconds(1))
        let later = link.others[after...].reduce(0, +) / (link.bytesPerMillisecond * Double(link.others.count - after))
        // The radio needs next to nothing. The other one could have the rest of the link.
        #expect(ofPlayer < 0.1 ? later >= 0.4 : (0.09...0.15).contains(later))
    }

    @Test func `a player that asks a dead host again and again stops others for its credit only`() {
        var link = Link()
        for resource in UInt64(0)..<15 {
            link.need(.urgent, of: resource)
            link.pass(.seconds(3))
            link.need(.nothing, of: resource)
            link.pass(.seconds(1))
        }
        link.others = []
        for resource in UInt64(15)..<30 {
            link.need(.urgent, of: resource)
            link.pass(.seconds(3))
            link.need(.nothing, of: resource)
            link.pass(.seconds(1))
        }
        #expect(link.part >= 0.4)
    }

    /// In any minute, others have a tenth of the link, except for the time in which a player that had
    /// enough is short, and then a fiftieth.
    @Test func `whatever players do, others have their part in every minute`() {
        for seed in UInt64(1)...6 {
            var numbers = SeededGenerator(seed: seed), link = Link()
            link.bytesPerMillisecond = 512
            var isShort: [Bool] = []
            var needs: [UInt64: Share.Need] = [:]
            while link.others.count < 120_000 {
                let resource = UInt64.random(in: 0..<3, using: &numbers)
                let need: Share.Need = [.nothing, .bytes, .urgent].randomElement(using: &numbers) ?? .nothing
                needs[resource] = need
                link.need(need, of: resource, at: "\(resource)")
                let time = Nanoseconds.milliseconds(Int64.random(in: 1...4000, using: &numbers))
                let part = needs.values.contains { $0 != .nothing } ? 0.5 : 0
                for _ in 0..<time / .milliseconds(1) {
                    link.pass(.milliseconds(1), ofPlayer: part)
                    isShort.append(link.share.isPlayerFirst)
                }
            }
            for begin in stride(from: 0, through: 60_000, by: 1000) {
                let minute = begin..<begin + 60_000
                let bytes = link.others[minute].reduce(0, +), short = isShort[minute].count { $0 }
                // The last drop may lie before the minute, and the next one behind it.
                let drop = Double(Share.dropInterval / .milliseconds(1)) * 0.025
                let least = link.bytesPerMillisecond * (0.1 * Double(60_000 - short) + 0.02 * Double(short) - drop)
                #expect(bytes >= least, "seed \(seed), from \(begin) ms")
            }
        }
    }

    @Test func `a share of nothing is a pause, and one of everything is none`() {
        var nothing = Link(0)
        nothing.need(.bytes)
        nothing.pass(Share.filling)
        #expect(nothing.share.allowance == 0 && nothing.share.deadline == nil)
        nothing.need(.nothing)
        nothing.pass(Share.draining)
        #expect(nothing.share.allowance == .max)
        var all = Link(1)
        all.need(.bytes)
        #expect(all.share.allowance == .max && all.share.deadline == nil)
    }
}
