import SpoolCore
package import SpoolOrigin
package import SpoolSystem

/// The parts of the outside world that a cache uses: clocks, randomness, disk, transport, threads.
///
/// They are injected, so that a simulation replays a whole run from a seed (`SpoolTesting`).
package struct CacheEnvironment: Sendable {
    /// The clocks and timers.
    package var time: any TimeSource
    /// The source of random numbers.
    package var random: any RandomSource
    /// The transport that fetches use.
    package var transport: any Transport
    /// The loop of the transport, if a server may share it.
    package var loop: LoopThread?
    /// The servers that `transport` asks before origins, as far as they work for an open cache.
    package var tiers: [any TierService] = []
    /// Reports the conditions of the system's network, if anything does.
    package var monitor: (any NetworkMonitor)?
    /// Runs timers and other work that must not block.
    package var control: any Mailbox
    /// Runs every index call.
    package var indexLane: any Mailbox
    /// Syncs data files, beside the index calls, so that a look-up need not wait for the disk.
    package var syncLane: any Mailbox
    /// Write data files and open sealed bytes. Each generation always uses the same lane.
    package var dataLanes: [any Mailbox]
    /// Read and rewrite manifests. Their jobs do no I/O.
    package var manifestLanes: [any Mailbox]
    /// Ends the threads behind the mailboxes. Called once, by `close`.
    package var shutDown: @Sendable () -> Void

    /// Creates an environment in which the index lane syncs data files, too, and the control lane
    /// works on manifests.
    package init(
        time: any TimeSource, random: any RandomSource, transport: any Transport, loop: LoopThread? = nil, control: any Mailbox,
        indexLane: any Mailbox, dataLanes: [any Mailbox], shutDown: @escaping @Sendable () -> Void = {}
    ) {
        precondition(!dataLanes.isEmpty, "a cache needs a lane to write on")
        self.time = time
        self.random = random
        self.transport = transport
        self.loop = loop
        self.control = control
        self.indexLane = indexLane
        syncLane = indexLane
        self.dataLanes = dataLanes
        manifestLanes = [control]
        self.shutDown = shutDown
    }

    /// Posts `job` to a data lane. If there is a loop, the loop first finishes its current work:
    /// readers get their bytes from there, and a lane that is woken may take its core.
    func postBehindReaders(_ lane: any Mailbox, _ job: @escaping @Sendable () -> Void) {
        guard let loop = loop?.loop else { return lane.post(job) }
        loop.postAtRest { lane.post(job) }
    }

    func dataLane(for generation: GenerationID) -> any Mailbox {
        dataLanes[Int(truncatingIfNeeded: generation.rawValue.magnitude) % dataLanes.count]
    }
}
