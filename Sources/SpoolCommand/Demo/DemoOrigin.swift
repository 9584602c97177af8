import SpoolCore
import SpoolServer
import SpoolSystem

/// An origin on this machine with generated music and a slow line, for the demo and the tests.
///
/// It serves GET and HEAD with ranges and preconditions. Each file has a strong entity tag.
final class DemoOrigin: Handler {
    let files: [DemoFile]
    private let bytesPerSecond: Int64?
    private let loop: EventLoop
    private let thread: SystemThread
    private let time = SystemTime()
    private let state = Locked(State())

    private struct State {
        var faults = DemoFaults()
        /// The server of the files, or nil while it is stopped.
        var server: HTTPServer?
        /// The server of the switches, or nil without them.
        var switches: HTTPServer?
        /// The address of the files, which stays the same when the origin is stopped for a while.
        var address: SocketAddress?
    }

    /// The rate of an origin that is slower than its music.
    private static let slowBytesPerSecond: Int64 = 100_000

    /// Creates an origin that does not listen yet.
    ///
    /// - Parameter bytesPerSecond: The rate of each response, or nil for unlimited.
    init(files: [DemoFile], bytesPerSecond: Int64?) throws(SystemError) {
        self.files = files
        self.bytesPerSecond = bytesPerSecond
        loop = try EventLoop()
        thread = loop.start(name: "spool-origin")
    }

    /// Listens on this machine only. Port 0 takes a free one.
    func start(port: UInt16) throws(SystemError) {
        let (server, addresses) = try listen(self, port: port)
        state.withLock {
            $0.server = server
            $0.address = addresses.first
        }
    }

    /// Listens for the page's switches.
    ///
    /// - Returns: The base URL of the switches, without a slash at its end.
    func startSwitches(_ switches: DemoSwitches) throws(SystemError) -> String {
        let (server, addresses) = try listen(switches, port: 0)
        state.withLock { $0.switches = server }
        return addresses.first.map { "http://\($0)" } ?? ""
    }

    private func listen(_ handler: any Handler, port: UInt16) throws(SystemError) -> (HTTPServer, [SocketAddress]) {
        let time = time
        let server = HTTPServer(loop: loop, options: ServerOptions(wallNow: { time.wallNow }), handler: handler)
        return (server, try server.listen(host: "127.0.0.1", port: port))
    }

    /// Closes every connection, and returns when the thread has ended.
    func stop() {
        let servers = state.withLock { state in
            defer { (state.server, state.switches, state.address) = (nil, nil, nil) }
            return [state.server, state.switches].compactMap { $0 }
        }
        stop(servers[...])
        thread.join()
    }

    private func stop(_ servers: ArraySlice<HTTPServer>) {
        guard let server = servers.first else { return loop.stop() }
        server.stop { self.stop(servers.dropFirst()) }
    }

    // MARK: Faults

    /// The faults of this moment.
    var faults: DemoFaults { state.withLock { $0.faults } }

    /// Changes the faults. Calls `done` on the origin's loop when they have an effect.
    func set(_ faults: DemoFaults, _ done: @escaping @Sendable () -> Void) {
        let (server, address) = state.withLock { state -> (HTTPServer?, SocketAddress?) in
            state.faults = faults
            defer { if faults.isStopped { state.server = nil } }
            return (state.server, state.address)
        }
        if faults.isStopped {
            guard let server else { return loop.post(done) }
            // A reader in the middle of its bytes loses its connection, as with a real failure.
            server.stop { done() }
        } else {
            if server == nil, let address { reopen(port: address.port) }
            loop.post(done)
        }
    }

    /// Listens on the same port again. The switch stays off if another program has taken the port.
    private func reopen(port: UInt16) {
        do throws(SystemError) {
            let (server, _) = try listen(self, port: port)
            state.withLock { $0.server = server }
        } catch {
            state.withLock { $0.faults.isStopped = true }
        }
    }

    /// The base URL, `http://127.0.0.1:PORT/`. Empty while the origin does not listen.
    var baseURL: String {
        state.withLock { $0.address }.map { "http://\($0)/" } ?? ""
    }

    func url(of file: DemoFile) -> String { baseURL + file.name }

    // MARK: Answering

    func respond(to request: RequestHead, on exchange: Exchange) {
        exchange.respond(response(to: request, loop: exchange.loop))
    }

    private func response(to request: RequestHead, loop: EventLoop) -> Response {
        guard request.method == "GET" || request.method == "HEAD" else {
            return .error(405, "this origin only has files to read", fields: ["Allow": "GET, HEAD"])
        }
        if faults.isWrong {
            return Response(200, fields: [.contentType: "text/html", .cacheControl: "no-store"], body: .bytes(Array(Self.page.utf8)))
        }
        let path = request.path.prefix { $0 != "?" }
        guard let file = files.first(where: { "/" + $0.name == path }) else {
            return .error(404, "there is no \(path); the files are \(files.map(\.name).joined(separator: ", "))")
        }
        let fields = request.fields
        switch Precondition.evaluate(fields: fields, representation: file.representation(now: time.wallNow)) {
        case .failed:
            return .error(412, "the file is not the version that the request names", fields: file.fields)
        case .notModified:
            return Response(304, fields: file.fields)
        case .proceed(let honoursRange):
            let range = honoursRange && request.method == "GET" ? RangeHeader(fields) : nil
            return response(file, range, loop: loop)
        }
    }

    private func response(_ file: DemoFile, _ range: RangeHeader?, loop: EventLoop) -> Response {
        var fields = file.fields
        switch range?.resolve(length: file.length) {
        case .unsatisfiable:
            fields[.contentRange] = "bytes */\(file.length)"
            return .error(416, "the file has \(file.length) bytes", fields: fields)
        case .ranges(let ranges) where ranges.count == 1:
            fields[.contentRange] = "bytes \(ranges[0].lowerBound)-\(ranges[0].upperBound - 1)/\(file.length)"
            return Response(206, fields: fields, body: body(file, ranges[0], loop: loop))
        // A request for several ranges may get the whole file (RFC 9110 §14.2).
        case .ranges, .whole, nil:
            return Response(200, fields: fields, body: body(file, ByteRange(lower: 0, upper: file.length), loop: loop))
        }
    }

    /// The wrong answer.
    private static let page = "<!doctype html><title>Welcome</title><p>Sign in to use this network.</p>"

    private func body(_ file: DemoFile, _ range: ByteRange, loop: EventLoop) -> Response.Body {
        let rate = faults.isSlow ? min(Self.slowBytesPerSecond, bytesPerSecond ?? .max) : bytesPerSecond
        return .source(PacedBody(file, range, bytesPerSecond: rate, loop: loop), length: range.count)
    }
}

extension DemoFile {
    fileprivate var fields: HTTPFields {
        [.contentType: "audio/wav", .entityTag: entityTag, .acceptRanges: "bytes", .cacheControl: "max-age=3600"]
    }

    fileprivate func representation(now: Timestamp) -> Representation {
        Representation(length: length, validator: .strong(entityTag: entityTag), fields: fields, requestTime: now, responseTime: now)
    }
}
