#if os(Linux)
internal import SpoolCore
internal import SpoolSystem

/// Bounds the receive windows of a loop's connections (`ReceiveWindow`), and stops the origins of
/// paused transfers. Keeps open connections for players, too. For HTTP/1.1 only, where a transfer has
/// its connection for itself.
///
/// Used on the thread of the loop only.
final class CurlWindows {
    private var policy = ReceiveWindow()
    /// The transfers with an open connection.
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// The sockets with a bounded window. libcurl may give one to the next transfer.
    private var bounded: Set<Int32> = []
    /// The sockets of paused transfers whose origins stop when their windows are full, and the memory
    /// that the kernel had for each before.
    private var held: [Int32: UInt32] = [:]
    /// The kept connections without a transfer, and the host of each.
    private var kept: [Int32: String] = [:]
    private var nextMeasurement = MonotonicInstant(nanoseconds: 0)
    private let isSupported = ReceivingConnection.windowsCanChange

    /// Returns whether a transfer that begins opens a connection of its own and leaves the kept ones
    /// to a player, for which opening one costs a round trip or more. Otherwise it has one of them.
    func opensConnection(for transfer: CurlTransfer, now: MonotonicInstant) -> Bool {
        guard transfer.priority < .playing, policy.isBounding(now: now), let host = transfer.host else { return false }
        let sockets = kept.filter { $0.value == host }.keys
        guard sockets.count > ReceiveWindow.keptForPlayers, let socket = sockets.first else { return true }
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
        if let socket = transfer.socket { release(socket) }
        changed(now: now)
    }

    /// Stops the origin of a transfer whose connection is closed after its last bytes were read.
    /// Reading makes room, which the kernel would announce to the origin otherwise.
    func closes(_ transfer: CurlTransfer, now: MonotonicInstant) {
        guard let socket = transfer.socket else { return }
        ReceivingConnection.boundWindow(of: socket, to: 1)
        if transfers.removeValue(forKey: ObjectIdentifier(transfer)) != nil { changed(now: now) }
    }

    /// Notes that a socket is about to be closed. Its number may be that of another file then.
    func closed(_ socket: Int32, now: MonotonicInstant) {
        bounded.remove(socket)
        held[socket] = nil
        kept[socket] = nil
        // Two, if a transfer got the connection of one that libcurl has ended in this turn.
        let closed = transfers.values.filter { $0.socket == socket }
        for transfer in closed { transfer.connectionClosed() }
        for transfer in closed { ended(transfer, now: now) }
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
        boundAll(now: now)
    }

    /// Notes that a transfer took bytes.
    ///
    /// - Parameter endedBytes: The bytes of the transfers that are over.
    func took(_ transfer: CurlTransfer, endedBytes: @autoclosure () -> Int64, now: MonotonicInstant) {
        guard transfers[ObjectIdentifier(transfer)] != nil else { return }
        if now >= nextMeasurement {
            nextMeasurement = now + ReceiveWindow.interval
            policy.received(transfers.values.reduce(endedBytes()) { $0 + $1.arrivedBytes }, now: now)
            boundAll(now: now)
        } else if transfer.priority < .playing {
            // The kernel widens the window as it sees fit when bytes are read.
            bound(transfer, running: runningCount, now: now)
        }
    }

    private var runningCount: Int { transfers.values.count { $0.priority < .playing && !$0.isPaused } }

    private func boundAll(now: MonotonicInstant) {
        let running = runningCount
        for transfer in transfers.values { bound(transfer, running: running, now: now) }
    }

    private func bound(_ transfer: CurlTransfer, running: Int, now: MonotonicInstant) {
        guard let socket = transfer.socket else { return }
        guard let segment = boundedSegment(of: transfer, on: socket, now: now),
            let bytes = window(of: transfer, segment: segment, running: running, now: now)
        else {
            release(socket)
            if bounded.remove(socket) != nil { ReceivingConnection.boundWindow(of: socket, to: nil) }
            return
        }
        if transfer.isPaused {
            // A player may need its window next, also where no reader follows the request now.
            let later = transfer.host.flatMap { policy.bytesOfPlayer(for: $0, segment: segment, isPaused: true, now: now) }
            hold(socket, reserve: ReceiveWindow.restSegments * segment, later: later)
        } else {
            release(socket)
        }
        ReceivingConnection.boundWindow(of: socket, to: bytes)
        bounded.insert(socket)
    }

    /// Returns the most bytes of one segment, or nil if the window of the transfer is not bounded now.
    private func boundedSegment(of transfer: CurlTransfer, on socket: Int32, now: MonotonicInstant) -> Int? {
        guard transfer.priority == .playing || policy.isBounding(now: now) else { return nil }
        return ReceivingConnection.segmentBytes(of: socket)
    }

    /// Stops an origin when its window is full, if the system permits it.
    private func hold(_ socket: Int32, reserve: Int, later: Int?) {
        guard let memory = ReceivingConnection.hold(socket, reserve: reserve, later: later) else { return }
        held[socket] = held[socket] ?? memory
    }

    private func release(_ socket: Int32) {
        guard let memory = held.removeValue(forKey: socket) else { return }
        ReceivingConnection.release(socket, memory: memory)
    }

    private func window(of transfer: CurlTransfer, segment: Int, running: Int, now: MonotonicInstant) -> Int? {
        guard let host = transfer.host else { return nil }
        if transfer.priority == .playing {
            return policy.bytesOfPlayer(for: host, segment: segment, isPaused: transfer.isPaused, now: now)
        }
        return policy.bytes(for: host, segment: segment, isPaused: transfer.isPaused, running: running, now: now)
    }
}
#endif
