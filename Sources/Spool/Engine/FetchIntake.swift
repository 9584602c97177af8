import SpoolCore
import SpoolOrigin
import SpoolSystem

/// The shell of one origin request: takes what the transport hands over and keeps it until it is stored or read.
///
/// The transport's calls go straight to the session. `segments`, `transfer` and the flags belong to the session's lock.
final class FetchIntake: TransferReceiver, @unchecked Sendable {
    // Safe to share: every stored `var` is touched under the session's lock only.
    let id: FetchID
    let ask: OriginAsk
    private let session: ResourceSession
    var transfer: (any Transfer)?
    /// What is in memory, in the order of offsets; the last one may still grow.
    var segments: [Segment] = []
    var generation: GenerationID?
    var ticket: UInt64?
    var isCancelled = false
    /// The transport was asked.
    var isStarted = false
    /// The transport's last call has come.
    var isFinished = false
    /// `resume` was wanted before the transfer was known.
    var owesResume = false
    /// It was paused for want of a buffer; whatever frees memory of its own resumes it, too.
    var isStarved = false
    var fetchedBytes: Int64 = 0
    var requestTime = Timestamp(nanoseconds: 0)

    init(id: FetchID, ask: OriginAsk, session: ResourceSession) {
        self.id = id
        self.ask = ask
        self.session = session
    }

    func headReceived(_ head: ResponseHead) { session.headReceived(self, head) }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { session.bodyReceived(self, bytes) }

    func batchEnded() { session.batchEnded(self) }

    func finished(_ end: TransferEnd) { session.transferFinished(self, end) }
}
