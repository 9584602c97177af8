import SpoolProxy
import SpoolSystem
import Testing

/// One relay wakes a body of many gigabytes tens of thousands of times.
@Suite struct WakeRelayTests {
    @Test func `the last of many wake-ups uses no more stack than the first`() {
        let relay = WakeRelay(), depths = Locked<[UInt]>([])
        relay.set {
            var here: UInt8 = 0
            let depth = withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
            depths.withLock { $0.append(depth) }
        }
        for _ in 0..<1000 { relay.wake() }
        #expect(depths.withLock { Set($0) }.count == 1, "each wake-up uses more of the stack than the one before")
        #expect(depths.withLock { $0.count } == 1000)
    }

    @Test func `a wake-up runs the latest closure, and none after a clear`() {
        let relay = WakeRelay(), heard = Locked<[String]>([])
        relay.wake()
        relay.set { heard.withLock { $0.append("answer") } }
        relay.wake()
        relay.set { heard.withLock { $0.append("body") } }
        relay.wake()
        relay.clear()
        relay.wake()
        #expect(heard.withLock { $0 } == ["answer", "body"])
    }
}
