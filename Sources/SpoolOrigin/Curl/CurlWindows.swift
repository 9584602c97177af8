#if os(Linux)
internal import SpoolCore
internal import SpoolSystem

/// Sets the receive windows of a loop's connections: those of preloads and downloads are bounded
/// while players use the link (`BackgroundWindow`). Keeps open connections for players, too. For
/// HTTP/1.1 only, where a transfer has its connection for itself.
///
/// Used on the thread of the loop only.
final class CurlWindows {
    private var policy = BackgroundWindow()
    /// The transfers with an open connection.
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// The sockets with a bounded window. libcurl may give one to the next transfer.
    private var bounded: Set<Int32> = []
    /// The kept connections without a transfer, and the host of each.
    private var kept: [Int32: String] = [:]
    private var nextMeasurement = MonotonicInstant(nanoseconds: 0)
    private let isSupported = ReceivingConnection.windowsCanChange

    /// Returns whether a transfer that begins opens a connection of its own and leaves the kept ones
    /// to a player, for which opening one costs a round trip or more. Otherwise it has one of them.
    func opensConnection(for transfer: CurlTransfer, now: MonotonicInstant) -> Bool {
        guard transfer.priority < .playing, policy.isBounding(now: now), let host = transfer.host else { return false }
        let sockets = kept.filter { $0.value == host }.keys
        guard sockets.count > BackgroundWindow.keptForPlayers, let socket = sockets.first else { return true }
        // libcurl takes one of them later, when others may have begun as well.
        kept[socket] = nil
        return false
    }

    /// Takes the socket of a connection that is kept after its transfer, unless another transfer has
    /// it already.
    func keeps(_ socket: Int32, of transfer: CurlTransfer) {
        guard let host = transfer.host, !transfers.values.contains(where: { $0.socket == socket }) else { return }
        kept[socket] = host
    }

    /// Takes a transfer whose connection is known.
    func connected(_ transfer: CurlTransfer, now: MonotonicInstant) {
        if let socket = transfer.socket { kept[socket] = nil }
        guard isSupported else { return }
        transfers[ObjectIdentifier(transfer)] = transfer
        changed(now: now)
    }

    /// Removes a transfer that is over.
    func ended(_ transfer: CurlTransfer, now: MonotonicInstant) {
        guard transfers.removeValue(forKey: ObjectIdentifier(transfer)) != nil else { return }
        changed(now: now)
    }

    /// Notes that a socket is about to be closed. Its number may be that of another file then.
    func closed(_ socket: Int32, now: MonotonicInstant) {
        bounded.remove(socket)
        kept[socket] = nil
        // Two, if a transfer got the connection of one that libcurl has ended in this turn.
        for transfer in transfers.values.filter({ $0.socket == socket }) {
            transfer.connectionClosed()
            ended(transfer, now: now)
        }
    }

    /// Takes the time to the first byte of an answer.
    func answered(_ transfer: CurlTransfer, after delay: Nanoseconds, now: MonotonicInstant) {
        guard isSupported, let host = transfer.host else { return }
        policy.answered(by: host, after: delay, now: now)
    }

    /// Takes a change of the urgency of a transfer, or of whether it is paused.
    func changed(now: MonotonicInstant) {
        guard isSupported else { return }
        policy.playersChanged(transfers.values.count { $0.priority == .playing }, now: now)
        guard !bounded.isEmpty || policy.isBounding(now: now) else { return }
        let running = runningCount
        for transfer in transfers.values { bound(transfer, running: running, now: now) }
    }

    /// Notes that a transfer took bytes.
    ///
    /// - Parameter endedBytes: The bytes of the transfers that are over.
    func took(_ transfer: CurlTransfer, endedBytes: @autoclosure () -> Int64, now: MonotonicInstant) {
        guard isSupported else { return }
        if now >= nextMeasurement {
            nextMeasurement = now + BackgroundWindow.interval
            policy.received(transfers.values.reduce(endedBytes()) { $0 + $1.arrivedBytes }, now: now)
        }
        // The kernel widens the window as it sees fit when bytes are read.
        if transfer.priority < .playing { bound(transfer, running: runningCount, now: now) }
    }

    private var runningCount: Int { transfers.values.count { $0.priority < .playing && !$0.isPaused } }

    private func bound(_ transfer: CurlTransfer, running: Int, now: MonotonicInstant) {
        guard let socket = transfer.socket else { return }
        if let bytes = window(of: transfer, on: socket, running: running, now: now) {
            ReceivingConnection.boundWindow(of: socket, to: bytes)
            bounded.insert(socket)
        } else if bounded.remove(socket) != nil {
            ReceivingConnection.boundWindow(of: socket, to: nil)
        }
    }

    private func window(of transfer: CurlTransfer, on socket: Int32, running: Int, now: MonotonicInstant) -> Int? {
        guard transfer.priority < .playing, policy.isBounding(now: now), let host = transfer.host,
            let segment = ReceivingConnection.segmentBytes(of: socket)
        else { return nil }
        return policy.bytes(for: host, segment: segment, isPaused: transfer.isPaused, running: running, now: now)
    }
}
#endif
