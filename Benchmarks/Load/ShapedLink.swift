import CSpoolSystem
import SpoolLibc
import SpoolSystem

/// A slow line between a cache and its origin: a relay on the loopback address with a rate that all
/// connections share, a delay, and bounded buffers.
///
/// The kernel's own shaper needs the rights of an administrator, and a module that many kernels
/// lack.
final class ShapedLink: Sendable {
    /// The properties of a line.
    struct Shape: Sendable {
        /// The bytes a second towards the cache, of all connections together.
        var bytesPerSecond: UInt64 = 8 << 20
        /// The time of one way, in nanoseconds. A new connection takes two more ways.
        var wayNanoseconds: UInt64 = 20_000_000
        /// The bytes that wait before the line, of all connections together.
        var queueBytes = 128 << 10
    }

    /// What has happened so far.
    private struct State {
        var carriedBytes: Int64 = 0
        var isClosed = false
    }

    let port: UInt16
    private let state = Locked(State())
    private let thread: SystemThread

    /// Opens a line to the origin at `port`.
    init(to port: UInt16, shape: Shape = Shape()) throws {
        let (listener, ownPort) = try listenOnLoopback()
        self.port = ownPort
        var segment = Relay.segmentBytes
        guard setsockopt(listener, Int32(IPPROTO_TCP), TCP_MAXSEG, &segment, 4) == 0 else { throw BenchmarkError.system("setsockopt") }
        guard fcntl(listener, F_SETFL, O_NONBLOCK) == 0 else { throw BenchmarkError.system("fcntl") }
        let state = self.state
        thread = SystemThread(name: "shaped-link") {
            var relay = Relay(listener: listener, origin: port, shape: shape)
            while !state.withLock({ $0.isClosed }) {
                let carried = relay.turn()
                if carried > 0 { state.withLock { $0.carriedBytes += carried } }
            }
            relay.close()
        }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        thread.join()
    }

    /// Returns the bytes that entered the line towards the cache since the last call. They count
    /// also if the cache has closed meanwhile.
    func takeCarriedBytes() -> Int64 {
        state.withLock { state in
            defer { state.carriedBytes = 0 }
            return state.carriedBytes
        }
    }
}

/// The connections of a line. One thread owns it.
private struct Relay {
    /// Bytes on their way, and the time at which they arrive.
    private struct Parcel {
        var bytes: [UInt8]
        var arrival: UInt64
    }

    private struct Pair {
        var cache: Int32
        var origin: Int32
        /// The time before which nothing arrives, because the connection is being opened.
        var opened: UInt64
        var toOrigin: [Parcel] = []
        var toCache: [Parcel] = []
        /// The most bytes on their way if the kernel sets the window, and the time since which `taken`
        /// bytes went on to the cache.
        var window = Relay.firstWindowBytes
        var windowSince: UInt64 = 0
        var taken = 0
        /// The bytes that the cache took, and the time at which the origin learns it.
        var acknowledgements: [(bytes: Int, arrival: UInt64)] = []
        /// Whether the origin has closed.
        var hasEnded = false

        /// The bytes that the origin has sent and does not know to be taken.
        var underWay: Int { toCache.reduce(0) { $0 + $1.bytes.count } + acknowledgements.reduce(0) { $0 + $1.bytes } }

        /// Counts bytes that the cache took. Like Linux, the window is twice what the cache took in a
        /// round trip (tcp(7), `tcp_moderate_rcvbuf`).
        mutating func took(_ bytes: Int, _ now: UInt64, oneWay: UInt64) {
            acknowledgements.append((bytes, now + oneWay))
            taken += bytes
            guard now - windowSince >= 2 * oneWay else { return }
            window = max(window, min(2 * taken, Relay.maximumWindowBytes))
            (windowSince, taken) = (now, 0)
        }
        /// The time at which the origin learns that the cache has closed, or nil.
        var leaves: UInt64?
        /// Whether the descriptor had bytes when it was polled last.
        var cacheIsReadable = false, originIsReadable = false
    }

    private let listener: Int32
    private let originPort: UInt16
    private let shape: ShapedLink.Shape
    private var pairs: [Pair] = []
    /// The time at which the line has sent everything that waits before it.
    private var free: UInt64 = 0
    private var nextPair = 0

    /// The payload bytes of one segment towards the cache, as on Ethernet.
    fileprivate static let segmentBytes: Int32 = 1448
    /// The bytes of one packet train.
    private static let parcelBytes = 16 << 10
    /// The bytes of one connection on their way, at first and at most.
    fileprivate static let firstWindowBytes = 64 << 10
    fileprivate static let maximumWindowBytes = 4 << 20
    /// The send buffer to the cache. The window stands for the buffers of the line.
    private static let cacheBufferBytes: Int32 = 16 << 10
    /// The receive buffer from the origin, so that few bytes count as sent that are not on the line.
    private static let originBufferBytes: Int32 = 32 << 10
    private static let maximumPairs = 128
    /// The longest time in one poll.
    private static let turnNanoseconds: UInt64 = 20_000_000

    init(listener: Int32, origin: UInt16, shape: ShapedLink.Shape) {
        self.listener = listener
        originPort = origin
        self.shape = shape
    }

    func close() {
        for pair in pairs {
            Glibc.close(pair.cache)
            Glibc.close(pair.origin)
        }
        Glibc.close(listener)
    }

    /// Waits for something to do, and does it.
    ///
    /// - Returns: The number of bytes that entered the line.
    mutating func turn() -> Int64 {
        poll()
        acceptNew()
        let now = nanoseconds()
        var carried: Int64 = 0
        for index in pairs.indices {
            readRequests(index, now)
            deliver(index, now)
        }
        // In turns, so that every connection gets its part of the line.
        for step in pairs.indices {
            carried += readAnswer((nextPair + step) % pairs.count, now)
        }
        nextPair = pairs.isEmpty ? 0 : (nextPair + 1) % pairs.count
        removeOver(now)
        return carried
    }

    // MARK: Waiting

    /// Whether the queue before the line has room for another parcel.
    private func hasRoom(_ now: UInt64) -> Bool {
        let queued = free > now ? (free - now) * shape.bytesPerSecond / 1_000_000_000 : 0
        return queued + UInt64(Self.parcelBytes) <= UInt64(shape.queueBytes)
    }

    private func wantsAnswer(_ pair: Pair) -> Bool {
        !pair.hasEnded && pair.underWay < openWindow(pair)
    }

    /// The most bytes on their way. A small window that the cache advertises is one that it wants. A
    /// large one depends on the delay, which the kernel does not see here.
    private func openWindow(_ pair: Pair) -> Int {
        let advertised = spool_tcp_peer_window(pair.cache)
        guard advertised >= 0, advertised < Self.firstWindowBytes else { return pair.window }
        return min(pair.window, Int(advertised))
    }

    private mutating func poll() {
        let now = nanoseconds()
        var wait = Self.turnNanoseconds
        var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        let room = hasRoom(now)
        if !room { wait = min(wait, 1_000_000) }
        for pair in pairs {
            polled.append(pollfd(fd: pair.leaves == nil ? pair.cache : -1, events: Int16(POLLIN), revents: 0))
            polled.append(pollfd(fd: room && wantsAnswer(pair) ? pair.origin : -1, events: Int16(POLLIN), revents: 0))
            // No event tells that the cache has opened its window.
            if room, !pair.hasEnded, !wantsAnswer(pair) { wait = min(wait, 1_000_000) }
            let arrivals = [pair.toOrigin.first?.arrival, pair.toCache.first?.arrival, pair.acknowledgements.first?.arrival, pair.leaves]
            for arrival in arrivals.compactMap(\.self) {
                // A full buffer of the cache is tried again after a millisecond.
                wait = min(wait, arrival > now ? arrival - now : 1_000_000)
            }
        }
        guard Glibc.poll(&polled, nfds_t(polled.count), Int32((wait + 999_999) / 1_000_000)) > 0 else {
            for index in pairs.indices { (pairs[index].cacheIsReadable, pairs[index].originIsReadable) = (false, false) }
            return
        }
        for index in pairs.indices {
            pairs[index].cacheIsReadable = polled[1 + 2 * index].revents != 0
            pairs[index].originIsReadable = polled[2 + 2 * index].revents != 0
        }
    }

    private mutating func acceptNew() {
        while pairs.count < Self.maximumPairs {
            let cache = accept(listener, nil, nil)
            guard cache >= 0 else { return }
            guard fcntl(cache, F_SETFL, O_NONBLOCK) == 0,
                let origin = try? connectLoopback(port: originPort, receiveBufferBytes: Self.originBufferBytes)
            else {
                Glibc.close(cache)
                continue
            }
            var one: Int32 = 1
            setsockopt(cache, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
            var size = Self.cacheBufferBytes
            setsockopt(cache, SOL_SOCKET, SO_SNDBUF, &size, 4)
            pairs.append(Pair(cache: cache, origin: origin, opened: nanoseconds() + 2 * shape.wayNanoseconds))
        }
    }

    // MARK: Bytes

    private mutating func readRequests(_ index: Int, _ now: UInt64) {
        guard pairs[index].cacheIsReadable else { return }
        var bytes = [UInt8](repeating: 0, count: Self.parcelBytes)
        let count = recv(pairs[index].cache, &bytes, bytes.count, 0)
        if count > 0 {
            pairs[index].toOrigin.append(
                Parcel(bytes: Array(bytes[..<count]), arrival: max(now, pairs[index].opened) + shape.wayNanoseconds))
        } else if count == 0 || errno != EAGAIN {
            // What the origin sends meanwhile crosses the line for nothing.
            pairs[index].leaves = now + shape.wayNanoseconds
        }
    }

    /// Passes on what has arrived on either side.
    private mutating func deliver(_ index: Int, _ now: UInt64) {
        pairs[index].acknowledgements.removeAll { $0.arrival <= now }
        while let parcel = pairs[index].toOrigin.first, parcel.arrival <= now {
            let sent = parcel.bytes.withUnsafeBytes { send(pairs[index].origin, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent == parcel.bytes.count else { break }
            pairs[index].toOrigin.removeFirst()
        }
        while let parcel = pairs[index].toCache.first, parcel.arrival <= now {
            guard pairs[index].leaves == nil else {
                pairs[index].toCache.removeFirst()
                continue
            }
            let sent = parcel.bytes.withUnsafeBytes { send(pairs[index].cache, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if sent > 0 { pairs[index].took(sent, now, oneWay: shape.wayNanoseconds) }
            if sent == parcel.bytes.count {
                pairs[index].toCache.removeFirst()
            } else if sent > 0 {
                pairs[index].toCache[0].bytes.removeFirst(sent)
                break
            } else {
                break
            }
        }
    }

    /// Reads one parcel of an answer, if the line has room.
    private mutating func readAnswer(_ index: Int, _ now: UInt64) -> Int64 {
        guard pairs[index].originIsReadable, hasRoom(now) else { return 0 }
        let open = openWindow(pairs[index]) - pairs[index].underWay
        guard open > 0 else { return 0 }
        var bytes = [UInt8](repeating: 0, count: min(open, Self.parcelBytes))
        let count = recv(pairs[index].origin, &bytes, bytes.count, 0)
        guard count > 0 else {
            if count == 0 || errno != EAGAIN { pairs[index].hasEnded = true }
            return 0
        }
        free = max(free, now) + UInt64(count) * 1_000_000_000 / shape.bytesPerSecond
        pairs[index].toCache.append(Parcel(bytes: Array(bytes[..<count]), arrival: free + shape.wayNanoseconds))
        return Int64(count)
    }

    private mutating func removeOver(_ now: UInt64) {
        pairs.removeAll { pair in
            let hasLeft = pair.leaves.map { $0 <= now } ?? false
            guard hasLeft || (pair.hasEnded && pair.toCache.isEmpty) else { return false }
            Glibc.close(pair.cache)
            Glibc.close(pair.origin)
            return true
        }
        if nextPair >= pairs.count { nextPair = 0 }
    }
}
