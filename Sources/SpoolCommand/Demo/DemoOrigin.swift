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
    private let place = Locked<Place?>(nil)

    private struct Place {
        var server: HTTPServer
        var address: SocketAddress
    }

    /// Creates an origin that does not listen yet.
    ///
    /// - Parameter bytesPerSecond: The rate of each response, or nil for no limit.
    init(files: [DemoFile], bytesPerSecond: Int64?) throws(SystemError) {
        self.files = files
        self.bytesPerSecond = bytesPerSecond
        loop = try EventLoop()
        thread = loop.start(name: "spool-origin")
    }

    /// Listens on this machine only. Port 0 takes a free one.
    func start(port: UInt16) throws(SystemError) {
        let time = time
        let server = HTTPServer(loop: loop, options: ServerOptions(wallNow: { time.wallNow }), handler: self)
        let addresses = try server.listen(host: "127.0.0.1", port: port)
        place.withLock { $0 = addresses.first.map { Place(server: server, address: $0) } }
    }

    /// Closes every connection, and returns when the thread has ended.
    func stop() {
        let server = place.withLock { place in
            defer { place = nil }
            return place?.server
        }
        let loop = loop
        if let server { server.stop { loop.stop() } } else { loop.stop() }
        thread.join()
    }

    /// The base URL, `http://127.0.0.1:PORT/`. Empty while the origin does not listen.
    var baseURL: String {
        place.withLock { $0 }.map { "http://\($0.address)/" } ?? ""
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
        let path = request.path.prefix { $0 != "?" }
        guard let file = files.first(where: { "/" + $0.name == path }) else {
            return .error(404, "there is no \(path); the files are \(files.map(\.name).joined(separator: ", "))")
        }
        let fields = request.fields
        switch Precondition.evaluate(fields: fields, representation: file.representation(now: time.wallNow)) {
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

    private func body(_ file: DemoFile, _ range: ByteRange, loop: EventLoop) -> Response.Body {
        .source(PacedBody(file, range, bytesPerSecond: bytesPerSecond, loop: loop), length: range.count)
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
