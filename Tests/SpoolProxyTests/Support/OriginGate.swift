import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting

/// A transport around the scripted origin's that stops every body at a given byte until the test
/// opens it.
///
/// So a test can state "the origin has sent this much and no more" without a clock. Counts whole
/// chunks of the origin.
final class OriginGate: Transport {
    private struct State {
        var limit = Int64.max
        var transfers: [Int: any Transfer] = [:]
        var next = 0
    }

    private let origin: ScriptedOrigin
    private let state = Locked(State())

    init(_ origin: ScriptedOrigin) {
        self.origin = origin
    }

    /// Stops every body from now on before it exceeds `bytes` bytes.
    func hold(afterBytes bytes: Int64) {
        state.withLock { $0.limit = bytes }
    }

    /// Lets every body go on.
    func open() {
        let transfers = state.withLock { state in
            state.limit = .max
            return Array(state.transfers.values)
        }
        for transfer in transfers { transfer.resume() }
    }

    fileprivate var limit: Int64 { state.withLock { $0.limit } }

    // MARK: Transport

    var windowBytes: Int64? { origin.windowBytes }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        let transfer = origin.start(request, receiver: Receiver(receiver, number: number, gate: self))
        state.withLock { $0.transfers[number] = transfer }
        // The gate may have opened meanwhile.
        transfer.resume()
        return transfer
    }

    func close() { origin.close() }

    private func finished(_ number: Int) {
        _ = state.withLock { $0.transfers.removeValue(forKey: number) }
    }

    private final class Receiver: TransferReceiver, @unchecked Sendable {
        // Safe to share: `taken` is used in the transport's calls only, which come one at a time.
        private let receiver: any TransferReceiver
        private let number: Int
        private let gate: OriginGate
        private var taken: Int64 = 0

        init(_ receiver: any TransferReceiver, number: Int, gate: OriginGate) {
            self.receiver = receiver
            self.number = number
            self.gate = gate
        }

        func headReceived(_ head: ResponseHead) { receiver.headReceived(head) }

        func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
            guard taken + Int64(bytes.count) <= gate.limit else { return .pause }
            let answer = receiver.bodyReceived(bytes)
            if answer != .pause { taken += Int64(bytes.count) }
            return answer
        }

        func batchEnded() { receiver.batchEnded() }

        func finished(_ end: TransferEnd) {
            gate.finished(number)
            receiver.finished(end)
        }
    }
}
