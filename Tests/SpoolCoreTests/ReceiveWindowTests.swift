import SpoolCore
import Testing

/// Tests how much an origin may send ahead to players, and to preloads and downloads beside them.
@Suite struct ReceiveWindowTests {
    private static let host = "origin.test"
    private static let segment = 1448
    private let start = MonotonicInstant(nanoseconds: 0)
    private var window = ReceiveWindow()

    /// A link of 8 MiB/s, with answers after 40 ms.
    private mutating func measureLink(_ mebibytesPerSecond: Int64 = 8, at instant: MonotonicInstant? = nil) {
        let instant = instant ?? start
        window.received(0, now: instant)
        window.received(mebibytesPerSecond << 18, now: instant + ReceiveWindow.interval)
        window.answered(by: Self.host, after: .milliseconds(40), now: instant)
    }

    private func bytes(
        _ running: Int, isPaused: Bool = false, host: String = host, segment: Int = segment, at instant: MonotonicInstant? = nil
    ) -> Int {
        window.bytes(for: host, segment: segment, isPaused: isPaused, running: running, now: instant ?? start) ?? .max
    }

    @Test mutating func `without a player, windows are left to the kernel`() {
        measureLink()
        #expect(!window.isBounding(now: start))
        window.playersChanged(0, now: start)
        #expect(!window.isBounding(now: start))
    }

    @Test mutating func `windows stay bounded for a minute after the last player`() {
        window.playersChanged(1, now: start)
        #expect(window.isBounding(now: start + .seconds(3600)))
        window.playersChanged(0, now: start + .seconds(3600))
        #expect(window.isBounding(now: start + .seconds(3659)))
        #expect(!window.isBounding(now: start + .seconds(3660)))
        window.playersChanged(1, now: start + .seconds(4000))
        #expect(window.isBounding(now: start + .seconds(4000)))
    }

    @Test mutating func `beside a player, all windows together hold less than the link has on its way`() {
        measureLink()
        window.playersChanged(1, now: start)
        let onTheWay = Double(8 << 20) * 0.04
        #expect(bytes(1) == Int(onTheWay * ReceiveWindow.part))
        for running in 1...20 {
            #expect(Double(bytes(running) * running) < onTheWay)
            #expect(Double(bytes(running) * running) > 0.9 * ReceiveWindow.part * onTheWay)
        }
    }

    @Test mutating func `between two requests of a player, one other request has room to recover from a loss`() {
        measureLink()
        window.playersChanged(1, now: start)
        window.playersChanged(0, now: start)
        let onTheWay = Int(Double(8 << 20) * 0.04)
        #expect(bytes(1) == 2 * onTheWay)
        #expect(bytes(4) == Int(Double(onTheWay) * ReceiveWindow.part) / 4)
    }

    @Test mutating func `on a near link, windows hold ten milliseconds of it`() {
        measureLink(80)
        window.playersChanged(1, now: start)
        window.answered(by: Self.host, after: .milliseconds(1), now: start)
        #expect(bytes(2) == Int(Double(80 << 20) * 0.01) / 2)
    }

    @Test mutating func `a player has four times what the link has on its way, and at least a MiB`() {
        func bytes(_ host: String = Self.host, segment: Int = Self.segment, isPaused: Bool = false) -> Int? {
            window.bytesOfPlayer(for: host, segment: segment, isPaused: isPaused, now: start)
        }
        #expect(bytes() == nil)
        // The origin of a paused request stops, whether or not the link was measured.
        #expect(bytes(isPaused: true) == 1 << 20)
        #expect(bytes(segment: 65_483, isPaused: true) == nil)
        measureLink(32)
        #expect(bytes().map(Double.init) == (4 * 0.04 * Double(32 << 20)).rounded(.down))
        #expect(bytes("other.test") == nil)
        #expect(bytes(segment: 65_483) == nil)
        window.answered(by: "near.test", after: .milliseconds(1), now: start)
        #expect(bytes("near.test") == 1 << 20)
    }

    @Test mutating func `a paused request has two segments`() {
        measureLink()
        #expect(bytes(1, isPaused: true) == 2 * Self.segment)
    }

    @Test mutating func `no window of a running request is smaller than eight segments`() {
        measureLink()
        #expect(bytes(1000) == 8 * Self.segment)
        #expect(bytes(8, segment: 9000) == 8 * 9000)
    }

    @Test mutating func `windows on loopback, with its large segments, are left to the kernel`() {
        measureLink()
        for isPaused in [false, true] {
            #expect(window.bytes(for: Self.host, segment: 32768, isPaused: isPaused, running: 2, now: start) == nil)
        }
    }

    @Test mutating func `a link that was not measured, or is very near, has the least`() {
        #expect(bytes(1) == ReceiveWindow.leastBytes)
        measureLink()
        #expect(bytes(2, host: "other.test") == ReceiveWindow.leastBytes / 2)
        window = ReceiveWindow()
        measureLink(1)
        window.answered(by: Self.host, after: 1, now: start)
        #expect(bytes(1) == ReceiveWindow.leastBytes)
    }

    @Test mutating func `the highest rate of ten minutes counts, and not an older one`() {
        measureLink()
        let high = bytes(1)
        var instant = start + ReceiveWindow.interval
        var received: Int64 = 2 << 20
        func measure(for seconds: Int64) -> Int {
            for _ in 0..<seconds {
                instant = instant + .seconds(1)
                received += 1 << 20
                window.received(received, now: instant)
            }
            return bytes(1, at: instant)
        }
        #expect(measure(for: 290) == high)
        #expect(measure(for: 620) == high / 8)
    }

    @Test mutating func `a rest of any length does not bring an old rate back`() {
        measureLink()
        window.received(3 << 20, now: start + .seconds(3600))
        #expect(bytes(1, at: start + .seconds(3600)) == ReceiveWindow.leastBytes)
    }

    @Test mutating func `bytes that are missing for a moment are no second rate`() {
        measureLink()
        let rate = bytes(1)
        window.received(1 << 20, now: start + .milliseconds(500))
        window.received(3 << 20, now: start + .milliseconds(501))
        #expect(bytes(1) == rate)
    }

    @Test mutating func `a host that has moved away is known after a minute without its answers`() {
        measureLink()
        window.answered(by: Self.host, after: .milliseconds(400), now: start + .seconds(45))
        let near = bytes(1, at: start + .seconds(74))
        #expect(bytes(1, at: start + .seconds(75)) > near)
    }

    @Test mutating func `the shortest answer of a host counts`() {
        measureLink()
        let near = bytes(1)
        window.answered(by: Self.host, after: .seconds(20), now: start)
        #expect(bytes(1) == near)
    }

    @Test mutating func `round trips of at most 64 hosts are known`() {
        measureLink()
        let known = bytes(1)
        for number in 1..<ReceiveWindow.hostLimit { window.answered(by: "\(number).test", after: .seconds(1), now: start) }
        #expect(bytes(1) == known)
        window.answered(by: "one-more.test", after: .seconds(1), now: start)
        #expect(bytes(1) == ReceiveWindow.leastBytes)
    }

    @Test mutating func `extreme numbers stay within the bounds of the kernel`() {
        window.received(0, now: start)
        window.received(.max, now: start + 1)
        window.answered(by: Self.host, after: .max, now: start)
        #expect(bytes(1) == Int(Int32.max))
        window.received(0, now: start + 2)
        window.received(.max, now: start)
        #expect(bytes(1) > 0)
    }
}
