#if os(Linux)
import SpoolCore
import SpoolLibc
import SpoolOrigin
import SpoolSystem
import SpoolTesting
import Testing

// The end of transfers whose bytes have arrived already.

extension CurlTransportTests {
    /// Starts a request whose receiver takes nothing before `take` says so, and waits until the
    /// origin has sent `bytes`. They are in the kernel then.
    private func pausedTransfer(_ world: World, _ length: Int64, sends bytes: Int64, take: Locked<Bool>) -> TransferProbe {
        let resource = VirtualResource(url: "/arrived", seed: 4, length: length)
        world.origin.serve(resource)
        let probe = TransferProbe(world.content, reaction: { _, _ in take.withLock { $0 } ? .taken : .pause })
        probe.start(OriginRequest(url: world.origin.url(resource.url), fields: [:]), on: world.transport)
        #expect(probe.wait { $0.pauses == 1 })
        while world.origin.log.handedOver(world.origin.url(resource.url)).bytes < bytes { sched_yield() }
        return probe
    }

    @Test func `a transfer that stops hands over the bytes that have arrived`() throws {
        let world = try World { _, _ in .stall(afterBytes: 60_000, .correct) }
        let take = Locked(false)
        let probe = pausedTransfer(world, World.length, sends: 60_000, take: take)
        take.withLock { $0 = true }
        probe.transfer?.stop()
        #expect(probe.waitForEnd() == .cancelled)
        #expect(probe.value.bytes == 60_000 && probe.value.violations.isEmpty)
    }

    @Test func `a transfer whose rest has arrived is complete when it stops`() throws {
        let world = try World()
        let take = Locked(false)
        let probe = pausedTransfer(world, 60_000, sends: 60_000, take: take)
        take.withLock { $0 = true }
        probe.transfer?.stop()
        #expect(probe.waitForEnd() == .complete)
        #expect(probe.value.bytes == 60_000 && probe.value.violations.isEmpty)
        // Its connection has a window of one segment, so no other request gets it.
        #expect(world.start().waitForEnd() == .complete)
        #expect(world.origin.connectionCount == 2)
    }

    @Test func `a receiver that takes nothing more ends a transfer that stops`() throws {
        let world = try World { _, _ in .stall(afterBytes: 60_000, .correct) }
        let probe = pausedTransfer(world, World.length, sends: 60_000, take: Locked(false))
        probe.transfer?.stop()
        #expect(probe.waitForEnd() == .cancelled)
        #expect(probe.value.bytes == 0 && probe.value.pauses == 2)
    }

    /// The origin goes on sending as fast as the receiver takes it, for 20 GiB.
    @Test func `a transfer that stops takes no more than what has arrived`() throws {
        let world = try World()
        let take = Locked(false)
        let probe = pausedTransfer(world, 20 << 30, sends: 60_000, take: take)
        take.withLock { $0 = true }
        probe.transfer?.stop()
        #expect(probe.waitForEnd() == .cancelled)
        #expect(probe.value.bytes > 0 && probe.value.bytes <= 4 << 20)
    }

    @Test func `a transfer without an answer stops at once`() throws {
        let world = try World { _, _ in .silence }
        let probe = world.start()
        while world.origin.log.entries.isEmpty { sched_yield() }
        probe.transfer?.stop()
        #expect(probe.waitForEnd() == .cancelled)
    }

    /// Each turn of the loop stops one of them.
    @Test func `every transfer of many that stop together ends with its bytes`() throws {
        var options = CurlTransportOptions.patient
        options.stopTurnTime = 0
        let world = try World(options) { _, _ in .stall(afterBytes: 60_000, .correct) }
        let take = Locked(false)
        let probes = (0..<64).map { _ in
            let probe = TransferProbe(world.content, reaction: { _, _ in take.withLock { $0 } ? .taken : .pause })
            probe.start(OriginRequest(url: world.origin.url("/v"), fields: [:]), on: world.transport)
            return probe
        }
        for probe in probes { #expect(probe.wait { $0.pauses == 1 }) }
        while world.origin.log.handedOver(world.origin.url("/v")).bytes < 64 * 60_000 { sched_yield() }
        take.withLock { $0 = true }
        for probe in probes { probe.transfer?.stop() }
        for probe in probes { #expect(probe.waitForEnd() == .cancelled && probe.value.bytes == 60_000) }
    }
}
#endif
