#if os(Linux)
internal import CCurl
internal import SpoolSystem

/// The sockets of a multi handle, watched by an event loop as libcurl says (`CURLMOPT_SOCKETFUNCTION`).
///
/// libcurl says it often: a kept connection wants nothing between two transfers, one whose transfer rests wants nothing for a moment.
/// What it wants is therefore looked at once, when libcurl has returned, and a socket of which it wants nothing any more stays watched until
/// it reports something. It may be closed by then, without a word: the kernel forgets a closed descriptor by itself, and what is wanted of
/// its number next is watched anew.
///
/// On the loop only.
final class CurlSockets {
    private struct Watch {
        var registration: Registration?
        var wanted: PollInterest = []
        /// libcurl wanted nothing of it for a while: another socket may have its number now.
        var isDoubtful = false
        /// Stands in `changed`.
        var isChanged = false
    }

    /// The turn of the loop in which libcurl was called last: it may have closed any socket since the loop was told what is ready.
    private var lastCall: UInt64?
    /// How many transfers rest: their sockets' reports are left for later.
    var restingTransfers = 0

    private let loop: EventLoop
    private var watches: [Int32: Watch] = [:]
    private var changed: [Int32] = []
    /// A socket that libcurl waits for is ready, for what it says in libcurl's terms.
    private let ready: (Int32, Int32) -> Void

    init(loop: EventLoop, ready: @escaping (Int32, Int32) -> Void) {
        self.loop = loop
        self.ready = ready
    }

    /// libcurl waits for other events of a socket from now on.
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

    /// A connection's socket was made. Where one of its number was closed without a word, libcurl sees no change, and says nothing.
    func opened(_ socket: Int32) {
        guard var watch = watches[socket] else { return }
        watch.isDoubtful = true
        if !watch.isChanged { changed.append(socket) }
        watch.isChanged = true
        watches[socket] = watch
    }

    /// Watches what libcurl wants since it was called.
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

    /// Everything is closed.
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
            // The kernel has no memory for another watch: the transfer hears nothing more and ends by its timeouts.
            if let registration = watch.registration { loop.forget(registration) }
            watch.registration = nil
        }
    }

    private func report(_ events: PollEvents, of socket: Int32) {
        guard let watch = watches[socket] else { return }
        guard !watch.wanted.isEmpty else {
            // In a turn in which libcurl was called the socket may be another's by now. It reports again in the next.
            guard restingTransfers == 0, lastCall != loop.turnCount, let registration = watch.registration else { return }
            loop.deregister(registration)
            watches[socket] = nil
            return
        }
        // What failed is found by reading or writing, with the bytes that came before.
        let all = events.contains(.failed)
        var mask: Int32 = 0
        if watch.wanted.contains(.read), all || events.contains(.readable) { mask |= CURL_CSELECT_IN }
        if watch.wanted.contains(.write), all || events.contains(.writable) { mask |= CURL_CSELECT_OUT }
        if mask != 0 { ready(socket, mask) }
    }
}
#endif
