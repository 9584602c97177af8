import SpoolCore
import SpoolOrigin
import SpoolSystem

/// One answer from memory. A lane hands its parts to the receiver, one after the other.
final class LaneTransfer: Transfer {
    private struct State {
        /// The bytes that were not taken yet; nil before there are any.
        var rest: [UInt8]?
        var isOver = false
    }

    private let receiver: any TransferReceiver
    private let lane: DiskLane
    private let state = Locked(State())

    init(_ receiver: any TransferReceiver, _ lane: DiskLane) {
        self.receiver = receiver
        self.lane = lane
    }

    /// Sends an answer. Called on the lane.
    ///
    /// - Parameter body: The body, or nil for one that does not come.
    func send(_ head: ResponseHead, _ body: [UInt8]?) {
        guard !state.withLock({ $0.isOver }) else { return }
        state.withLock { $0.rest = body }
        receiver.headReceived(head)
        offer()
    }

    private func offer() {
        let rest = state.withLock { $0.isOver ? nil : $0.rest }
        guard let rest else { return }
        if !rest.isEmpty {
            switch rest.withUnsafeBytes({ receiver.bodyReceived($0) }) {
            case .pause: return receiver.batchEnded()
            case .enough: return end(.cancelled)
            case .taken: state.withLock { $0.rest = [] }
            }
        }
        receiver.batchEnded()
        end(.complete)
    }

    /// Ends the answer, unless it has ended. Called on the lane.
    func end(_ end: TransferEnd) {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        if isFirst { receiver.finished(end) }
    }

    func resume() { lane.post { self.offer() } }
    func cancel() { lane.post { self.end(.cancelled) } }
}
