import SpoolCore
import SpoolOrigin
import SpoolSystem

/// The shell of one origin request: receives the calls of the transport and keeps the bytes until
/// they are stored or read.
///
/// Each call goes straight to the session. The lock of the session protects `buffers`, `transfer`
/// and the flags.
final class FetchIntake: TransferReceiver, @unchecked Sendable {
    // Safe to share: every stored `var` is used only under the lock of the session.
    let id: FetchID
    let ask: OriginAsk
    private let session: ResourceSession
    var transfer: (any Transfer)?
    /// The interval of the request for Instruments.
    var signpost: Signpost?
    /// The bytes in memory, in the order of their offsets. The last buffer may still grow.
    var buffers: [ReceiveBuffer] = []
    var generation: GenerationID?
    var ticket: UInt64?
    var isCancelled = false
    /// Whether the transport was asked to start.
    var isStarted = false
    /// The time at which the request was handed to the transport.
    var sentAt: MonotonicInstant?
    /// Whether the last call of the transport has come.
    var isFinished = false
    /// Whether `resume` was due before the transfer was known.
    var owesResume = false
    /// Whether the transfer was paused because no buffer was free. Memory that this fetch frees
    /// resumes it, too.
    var isStarved = false
    /// The reason why the network policy holds it, or nil if it may run.
    var refusal: NetworkRefusal?
    /// Whether the network policy holds it, and not only a player.
    var isRefused: Bool { refusal != nil && refusal != .playback }
    /// The time until which a player waits for the permission. Nil while none waits.
    var permissionDeadline: MonotonicInstant?
    /// The number of the last change of `refusal`.
    var holdNumber: UInt64 = 0
    /// Whether an event reported the present `refusal`.
    var hasReportedHold = false
    /// Whether its answer has no known end. Nil before the head.
    var isEndless: Bool?
    var fetchedBytes: Int64 = 0
    /// The bytes that arrived, by the count of the transport at its end.
    var arrivedBytes: Int64 = 0
    /// The failed requests of the resource in a row before this one.
    var retries = 0
    var requestTime = Timestamp(nanoseconds: 0)
    /// The number of requests that it may cause, once it was started.
    var budget: RequestBudget?
    /// How the origin is asked.
    let asker: ReaderAsk
    /// The client whose fields the request has; nil without one.
    var client: ClientRequest? { asker.client }

    init(id: FetchID, ask: OriginAsk, asker: ReaderAsk, session: ResourceSession) {
        self.id = id
        self.asker = asker
        self.ask = ask
        self.session = session
    }

    func interimReceived(_ head: ResponseHead) { session.fetching.interimReceived(self, head) }

    func answerIsLate() { session.fetching.answerIsLate(self) }

    func headReceived(_ head: ResponseHead) { session.fetching.headReceived(self, head) }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { session.fetching.bodyReceived(self, bytes) }

    func bodyIsQuiet(for time: Duration) -> Bool { session.fetching.bodyIsQuiet(self, for: time) }

    func batchEnded() { session.fetching.batchEnded(self) }

    func measured(_ timings: TransferTimings) { session.fetching.measured(self, timings) }

    func finished(_ end: TransferEnd) { session.fetching.transferFinished(self, end) }
}

extension FetchIntake: LimitedFetch {
    func start(on access: NetworkAccess) { session.fetching.start(self, access) }

    func hold(_ hold: FetchScheduler.Hold) { session.fetching.hold(self, hold) }

    func stopIfIdle() -> Bool { session.fetching.stop(id) { $0.preempt(id, now: $1) } }

    func stopIfUnneeded() -> Bool { session.fetching.stop(id) { $0.endUnneeded(id, now: $1) } }

    /// A client that does not take its bytes pauses the fetch, which then is idle.
    func giveUp() {}

    func look(_ ticket: UInt64) -> FetchScheduler.Look {
        session.state.withLock { state in
            FetchScheduler.Look(id: ticket, bytes: fetchedBytes, isIdle: state.machine.isIdle(id))
        }
    }
}
