package import SpoolCore
package import SpoolOrigin
internal import SpoolSystem

/// A transport whose answers a test gives by hand. Requests have the numbers from 0 on.
package final class HandTransport: Transport {
    private struct State {
        var requests: [OriginRequest] = []
        var receivers: [any TransferReceiver] = []
        var cancelled: [Int] = []
        var resumed: [Int] = []
        var priorities: [Int: [ReadPriority]] = [:]
    }

    private final class Started: Transfer {
        private let number: Int
        private let transport: HandTransport

        init(_ number: Int, _ transport: HandTransport) {
            self.number = number
            self.transport = transport
        }

        func resume() { transport.state.withLock { $0.resumed.append(number) } }
        func cancel() { transport.state.withLock { $0.cancelled.append(number) } }
        func stop() {
            cancel()
            transport.end(number, .cancelled)
        }
        func setPriority(_ priority: ReadPriority) { transport.state.withLock { $0.priorities[number, default: []].append(priority) } }
    }

    private let state = Locked(State())

    /// Creates a transport without requests.
    package init() {}

    package var windowBytes: Int64? { nil }

    /// The number of requests so far.
    package var count: Int { state.withLock { $0.requests.count } }

    /// The URLs of the requests.
    package var urls: [String] { state.withLock { $0.requests.map(\.url) } }

    /// The numbers of the transfers that were cancelled, in that order.
    package var cancelled: [Int] { state.withLock { $0.cancelled } }

    /// The numbers of the transfers that were resumed, in that order.
    package var resumed: [Int] { state.withLock { $0.resumed } }

    /// Returns the priorities that a transfer was told.
    package func priorities(of number: Int) -> [ReadPriority] { state.withLock { $0.priorities[number] ?? [] } }

    /// Returns a request.
    package func request(_ number: Int) -> OriginRequest { state.withLock { $0.requests[number] } }

    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let number = state.withLock { state in
            state.requests.append(request)
            state.receivers.append(receiver)
            return state.receivers.count - 1
        }
        return Started(number, self)
    }

    package func close() {}

    private func receiver(_ number: Int) -> any TransferReceiver { state.withLock { $0.receivers[number] } }

    /// Gives a request its head.
    package func answer(_ number: Int, _ status: Int = 200, _ fields: HTTPFields = [:]) {
        receiver(number).headReceived(ResponseHead(status: status, fields: fields))
    }

    /// Gives a request an interim response.
    package func inform(_ number: Int) { receiver(number).interimReceived(ResponseHead(status: 103, fields: [:])) }

    /// Reports that the answer to a request is late.
    package func delay(_ number: Int) { receiver(number).answerIsLate() }

    /// Ends a batch of a request's body.
    package func endBatch(_ number: Int) { receiver(number).batchEnded() }

    /// Measures a request. `bytes` tells the measurements of a test apart.
    package func measure(_ number: Int, bytes: Int64) {
        receiver(number).measured(TransferTimings(total: .zero, receivedBytes: bytes))
    }

    /// Gives a request body bytes.
    package func offer(_ number: Int, _ bytes: [UInt8] = [1, 1, 1, 1]) -> BodyAnswer {
        bytes.withUnsafeBytes { receiver(number).bodyReceived($0) }
    }

    /// Asks whether a silence of a request's body ends the transfer.
    package func isQuiet(_ number: Int, for time: Duration) -> Bool { receiver(number).bodyIsQuiet(for: time) }

    /// Ends a request.
    package func end(_ number: Int, _ end: TransferEnd) { receiver(number).finished(end) }
}
