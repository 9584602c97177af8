import SpoolProxy
import SpoolSystem
import Testing

/// A body of many gigabytes is woken tens of thousands of times by one relay.
@Suite struct WakeRelayTests {
    @Test func `the last of many wake-ups goes as straight as the first`() {
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

    @Test func `wake-ups go to whom they were passed on last, and to nobody in the end`() {
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
