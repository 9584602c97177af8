#if os(Linux)
internal import CCurl
internal import SpoolLibc
internal import SpoolSystem

/// The sockets of a multi handle, watched by an event loop as libcurl asks
/// (`CURLMOPT_SOCKETFUNCTION`).
///
/// libcurl asks often: it needs no events of a kept connection between two transfers, and none for
/// a moment while a transfer rests. So the changes are applied once, when libcurl has returned. A
/// socket without requested events stays watched until it reports one. libcurl may have closed it
/// by then without a call. The kernel forgets a closed descriptor by itself, and a new socket with
/// its number is registered anew.
///
/// Used on the loop only.
final class CurlSockets {
    private struct Watch {
        var registration: Registration?
        var wanted: PollInterest = []
        /// libcurl needed no events of the socket for a while, so another socket may have its
        /// number now.
        var isDoubtful = false
        /// Whether the socket is in `changed`.
        var isChanged = false
    }

    /// The turn of the loop in which libcurl was called last. It may have closed any socket since
    /// the loop read the events of this turn.
    private var lastCall: UInt64?
    /// The number of transfers that rest. Reports of their sockets are left for later.
    var restingTransfers = 0

    private let loop: EventLoop
    private var watches: [Int32: Watch] = [:]
    private var changed: [Int32] = []
    /// Called when a socket is ready that libcurl waits for, with the events as libcurl names them.
    private let ready: (Int32, Int32) -> Void

    init(loop: EventLoop, ready: @escaping (Int32, Int32) -> Void) {
        self.loop = loop
        self.ready = ready
    }

    /// Sets the events of a socket that libcurl waits for from now on.
    func want(_ what: Int32, of socket: Int32) {
        var watch = watches[socket] ?? Watch()
        watch.wanted =
            switch what {
            case CURL_POLL_IN: .read
            case CURL_POLL_OUT: .write
            case CURL_POLL_INOUT: PollInterest(rawValue: PollInterest.read.rawValue | PollInterest.write.rawValue)
            default: []
            }
        if watch.wanted.isEmpty { watch.isDoubtful = true }
        if !watch.isChanged { changed.append(socket) }
        watch.isChanged = true
        watches[socket] = watch
    }

    /// Notes that the socket of a connection was made. If an old socket with its number was closed
    /// without a call, libcurl sees no change and does not ask again.
    func opened(_ socket: Int32) {
        guard var watch = watches[socket] else { return }
        watch.isDoubtful = true
        if !watch.isChanged { changed.append(socket) }
        watch.isChanged = true
        watches[socket] = watch
    }

    /// Registers the changes that libcurl asked for since it was called.
    func apply() {
        lastCall = loop.turnCount
        guard !changed.isEmpty else { return }
        for socket in changed {
            guard var watch = watches[socket] else { continue }
            watch.isChanged = false
            if !watch.wanted.isEmpty { arm(&watch, socket) }
            watches[socket] = watch.registration == nil && watch.wanted.isEmpty ? nil : watch
        }
        changed.removeAll(keepingCapacity: true)
    }

    /// Removes all sockets, after libcurl has closed them.
    func removeAll() {
        for watch in watches.values { if let registration = watch.registration { loop.forget(registration) } }
        watches = [:]
        changed = []
    }

    private func arm(_ watch: inout Watch, _ socket: Int32) {
        do throws(SystemError) {
            if let registration = watch.registration, watch.isDoubtful {
                try loop.renew(registration, watch.wanted)
            } else if let registration = watch.registration {
                try loop.update(registration, watch.wanted)
            } else {
                watch.registration = try loop.register(socket, watch.wanted) { [weak self] events in self?.report(events, of: socket) }
            }
            watch.isDoubtful = false
        } catch {
            // The kernel has no memory for another watch. The transfer gets no more events and ends
            // by its timeouts.
            if let registration = watch.registration { loop.forget(registration) }
            watch.registration = nil
        }
    }

    private func report(_ events: PollEvents, of socket: Int32) {
        guard let watch = watches[socket] else { return }
        guard !watch.wanted.isEmpty else {
            // If libcurl was called in this turn, the number may belong to another socket by now.
            // The socket reports again in the next turn.
            guard restingTransfers == 0, lastCall != loop.turnCount, let registration = watch.registration else { return }
            // A process that is just being started holds a socket that libcurl has closed.
            if fcntl(socket, F_GETFD) < 0 { loop.forget(registration) } else { loop.deregister(registration) }
            watches[socket] = nil
            return
        }
        // Reading or writing finds the failure, after the bytes that came before it.
        let all = events.contains(.failed)
        var mask: Int32 = 0
        if watch.wanted.contains(.read), all || events.contains(.readable) { mask |= CURL_CSELECT_IN }
        if watch.wanted.contains(.write), all || events.contains(.writable) { mask |= CURL_CSELECT_OUT }
        if mask != 0 { ready(socket, mask) }
    }
}
#endif
