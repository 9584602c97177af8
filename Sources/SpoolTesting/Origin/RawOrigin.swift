public import SpoolCore
import SpoolLibc
public import SpoolOrigin
public import SpoolSystem

/// An HTTP/1.1 origin on a loopback socket, for tests over real TCP: transports, the proxy,
/// players.
///
/// It serves the same resources and supports the same behaviours as `ScriptedOrigin`, in real time.
/// One thread accepts connections, and each connection has a thread. `stop` ends them all; the
/// creator of an origin must call it.
///
/// Bytes count as sent once the kernel has them, so a cancelled transfer counts the bytes in its
/// socket buffers.
public final class RawOrigin: Sendable {
    private struct State {
        /// The resources by path and query.
        var resources: [String: VirtualResource] = [:]
        var script: OriginScript
        var isOffline = false
        var isStopped = false
        var connections: [Int: Int32] = [:]
        var threads: [Int: SystemThread] = [:]
        /// The connections whose threads are done. The next new connection joins these threads.
        var finished: [Int] = []
        var accepted = 0
        var acceptor: SystemThread?
    }

    /// The requests and responses. URLs are absolute, with the authority of this origin.
    public let log = OriginLog()
    /// The port on which it listens.
    public let port: UInt16
    private let host: String
    private let listener: Int32
    private let stopPipe: (read: Int32, write: Int32)
    private let clock: @Sendable () -> Timestamp
    private let state: Locked<State>

    /// The most connections at once. Further ones wait to be accepted.
    public static let maxConnections = 1024

    /// Listens on a free port and starts to serve.
    ///
    /// - Parameters:
    ///   - resources: The resources to serve. Only path and query of their URLs count.
    ///   - host: The loopback address, 127.0.0.1 or ::1.
    ///   - script: Chooses the behaviour for each request.
    ///   - clock: The wall clock of `Date`, or nil for that of the system.
    public init(
        _ resources: [VirtualResource] = [], host: String = "127.0.0.1", script: @escaping OriginScript = { _, _ in .correct },
        clock: (@Sendable () -> Timestamp)? = nil
    ) throws(SystemError) {
        let (socket, port) = try Self.listen(host)
        self.host = host
        self.port = port
        listener = socket
        var ends: (Int32, Int32) = (-1, -1)
        let code = withUnsafeMutablePointer(to: &ends) { $0.withMemoryRebound(to: Int32.self, capacity: 2) { pipe($0) } }
        guard code == 0 else { throw SystemError(code: errno, operation: "pipe") }
        stopPipe = (ends.0, ends.1)
        self.clock = clock ?? { Self.systemTime() }
        state = Locked(State(script: script))
        for resource in resources { serve(resource) }
        let acceptor = SystemThread(name: "origin-accept") { [self] in acceptAll() }
        state.withLock { $0.acceptor = acceptor }
    }

    // MARK: What it serves

    /// Returns the absolute URL of `path`, which begins with a slash.
    public func url(_ path: String) -> String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)" }

    /// Serves `resource` from now on. Only path and query of its URL count.
    public func serve(_ resource: VirtualResource) {
        state.withLock { $0.resources[Self.target(of: resource.url)] = resource }
    }

    /// Answers 404 at `url` from now on.
    public func remove(_ url: String) {
        _ = state.withLock { $0.resources.removeValue(forKey: Self.target(of: url)) }
    }

    /// Follows another script from the next request on.
    public func follow(_ script: @escaping OriginScript) {
        state.withLock { $0.script = script }
    }

    /// Resets every new connection at once while offline.
    ///
    /// - Parameter breaksTransfers: Whether open connections break, too.
    public func setOffline(_ isOffline: Bool, breaksTransfers: Bool = false) {
        state.withLock { $0.isOffline = isOffline }
        if isOffline, breaksTransfers { breakConnections() }
    }

    #if os(Linux)
    /// Bounds the segments of new connections to this number of payload bytes (`TCP_MAXSEG`, tcp(7)).
    /// Loopback has segments of 64 KiB, and a network of 1448 bytes or fewer.
    package func useSegments(of bytes: Int32) {
        var bytes = bytes
        _ = setsockopt(listener, Int32(IPPROTO_TCP), TCP_MAXSEG, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }
    #endif

    /// Breaks every open connection, idle ones included.
    public func breakConnections() {
        // Under the lock, so that no descriptor is closed and reused meanwhile. `shutdown` does not
        // block.
        state.withLock { state in
            for descriptor in state.connections.values { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// The number of connections accepted so far.
    public var connectionCount: Int { state.withLock { $0.accepted } }

    /// The number of open connections.
    public var openConnectionCount: Int { state.withLock { $0.connections.count } }

    /// Closes every connection and the port, and waits for the threads. Called once, and not from a
    /// script.
    public func stop() {
        let acceptor = state.withLock { state in
            state.isStopped = true
            return state.acceptor.take()
        }
        guard let acceptor else { return }
        // A byte, and not the end of the pipe: a program that was started meanwhile may have
        // inherited this end, and would hold it open.
        var byte: UInt8 = 1
        _ = write(stopPipe.write, &byte, 1)
        acceptor.join()
        close(stopPipe.write)
        breakConnections()
        let threads = state.withLock { Array($0.threads.values) }
        for thread in threads { thread.join() }
        close(stopPipe.read)
        close(listener)
    }

    /// Returns a port of 127.0.0.1 on which no process listens.
    public static func unusedPort() throws(SystemError) -> UInt16 {
        let (descriptor, port) = try listen("127.0.0.1")
        close(descriptor)
        return port
    }

    /// Whether this machine has ::1.
    public static var hasIPv6: Bool {
        do throws(SystemError) {
            close(try listen("::1").descriptor)
            return true
        } catch {
            return false
        }
    }

    // MARK: For connections

    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Returns the response to a request, and its number in the log.
    func answer(to request: OriginRequest) -> (OriginAnswer, ordinal: Int) {
        let now = clock()
        let ordinal = log.requested(request, at: now)
        let (script, resource) = state.withLock { ($0.script, $0.resources[Self.target(of: request.url)]) }
        return (OriginAnswer(to: request, resource: resource, behaviour: script(request, ordinal), date: now), ordinal)
    }

    // MARK: Accepting

    private func acceptAll() {
        while !isStopped {
            var waits = [
                pollfd(fd: stopPipe.read, events: Int16(POLLIN), revents: 0), pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&waits, nfds_t(waits.count), -1)
            guard waits[0].revents == 0 else { return }
            joinFinished()
            let descriptor = accept(listener, nil, nil)
            if descriptor >= 0 { serve(connection: descriptor) }
        }
    }

    private func serve(connection descriptor: Int32) {
        let socket = RawSocket(descriptor)
        let number = state.withLock { state -> Int? in
            guard !state.isOffline, state.connections.count < Self.maxConnections else { return nil }
            state.accepted += 1
            state.connections[state.accepted] = descriptor
            return state.accepted
        }
        guard let number else { return socket.close(reset: true) }
        let thread = SystemThread(name: "origin-serve") { [self] in
            let ending = RawConnection(socket, origin: self).run()
            _ = state.withLock { $0.connections.removeValue(forKey: number) }
            socket.close(reset: ending == .reset)
            state.withLock { $0.finished.append(number) }
        }
        state.withLock { $0.threads[number] = thread }
    }

    private func joinFinished() {
        let threads = state.withLock { state in
            defer { state.finished.removeAll() }
            return state.finished.compactMap { state.threads.removeValue(forKey: $0) }
        }
        for thread in threads { thread.join() }
    }

    // MARK: Small parts

    private static func target(of url: String) -> String {
        guard !url.hasPrefix("/") else { return url }
        let rest = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return rest.count == 4 ? "/" + rest[3] : "/"
    }

    private static func listen(_ host: String) throws(SystemError) -> (descriptor: Int32, port: UInt16) {
        guard let address = SocketAddress(literal: host, port: 0) else { preconditionFailure("\(host) is no address") }
        let socket = try Socket.listening(on: address)
        guard let port = socket.localAddress?.port else { throw SystemError(code: errno, operation: "getsockname") }
        // A descriptor of its own: the origin closes it after the last thread that waits on it.
        let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemError(code: errno, operation: "fcntl") }
        return (descriptor, port)
    }

    private static func systemTime() -> Timestamp {
        var value = timespec()
        clock_gettime(CLOCK_REALTIME, &value)
        return Timestamp(nanoseconds: Int64(value.tv_sec) * 1_000_000_000 + Int64(value.tv_nsec))
    }
}
