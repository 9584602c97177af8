import SpoolCore
package import SpoolOrigin
package import SpoolSystem

/// Everything of the world outside that a cache touches: clocks, randomness, disk, transport, threads.
///
/// Injected, so that a whole run replays from a seed (`SpoolTesting`).
package struct CacheEnvironment: Sendable {
    package var time: any TimeSource
    package var random: any RandomSource
    package var transport: any Transport
    /// What the transport runs on, where a server may share it; nil where it may not.
    package var loop: LoopThread?
    /// Timers and other work that must not block.
    package var control: any Mailbox
    /// Every index call is made here.
    package var indexLane: any Mailbox
    /// Data files are synced here, beside index calls.
    package var syncLane: any Mailbox
    /// Data files are written and opened here; one generation always on the same lane.
    package var dataLanes: [any Mailbox]
    /// Ends the threads behind the mailboxes; called once, by `close`.
    package var shutDown: @Sendable () -> Void

    /// - Parameter syncLane: nil where a look-up may wait for the disk: the index lane does both.
    package init(
        time: any TimeSource, random: any RandomSource, transport: any Transport, loop: LoopThread? = nil, control: any Mailbox,
        indexLane: any Mailbox, syncLane: (any Mailbox)? = nil, dataLanes: [any Mailbox], shutDown: @escaping @Sendable () -> Void = {}
    ) {
        precondition(!dataLanes.isEmpty, "a cache needs a lane to write on")
        self.time = time
        self.random = random
        self.transport = transport
        self.loop = loop
        self.control = control
        self.indexLane = indexLane
        self.syncLane = syncLane ?? indexLane
        self.dataLanes = dataLanes
        self.shutDown = shutDown
    }

    /// Runs `job` on a data lane, after what the transport's loop has to do first where there is one: readers get their bytes from there, and a
    /// lane that is woken may take its core.
    func postBehindReaders(_ lane: any Mailbox, _ job: @escaping @Sendable () -> Void) {
        guard let loop = loop?.loop else { return lane.post(job) }
        loop.postAtRest { lane.post(job) }
    }

    func dataLane(for generation: GenerationID) -> any Mailbox {
        dataLanes[Int(truncatingIfNeeded: generation.rawValue.magnitude) % dataLanes.count]
    }
}
