import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Plays one row of the table of hostile origins at the HTTP door, and describes the outcome in
/// words.
final class OriginCaseRun {
    private let row: OriginCase
    private let world: ProxyWorld
    private let script: OriginCaseScript
    private let time: ManualTime
    /// The origin on a socket, or nil for the scripted one.
    private let socket: RawOrigin?
    private let url: String
    /// The clock of a transport that waits in vain. It passes one silence of the origin.
    private var silence: ManualTime?

    private init(
        _ row: OriginCase, _ world: ProxyWorld, _ script: OriginCaseScript, _ time: ManualTime, socket: RawOrigin?, silence: ManualTime?
    ) {
        self.row = row
        self.world = world
        self.script = script
        self.time = time
        self.socket = socket
        self.silence = silence
        url = socket?.url("/song.mp3") ?? row.resource.url
    }

    /// Plays a row over the scripted origin, with the test's clock.
    static func scripted(_ row: OriginCase) throws -> OriginCase.Outcome {
        let time = ManualTime(), script = OriginCaseScript()
        let world = try ProxyWorld(
            [row.resource], time: time, silenceTimeout: .seconds(8), script: { request, _ in script.behaviour(of: request) },
            configuration: row.configure)
        defer { world.stop() }
        return try OriginCaseRun(row, world, script, time, socket: nil, silence: nil).play()
    }

    #if os(Linux)
    /// Plays a row over libcurl and an origin on a socket.
    static func onSocket(_ row: OriginCase) throws -> OriginCase.Outcome {
        let time = ManualTime(), script = OriginCaseScript()
        let origin = try RawOrigin(
            [row.resource], host: row.isAtIPv6 ? "::1" : "127.0.0.1",
            script: { request, _ in script.behaviour(of: request).elsewhere(request) }, clock: { time.wallNow })
        defer { origin.stop() }
        let loop = try LoopThread(name: "spool-loop"), silence = row.waitsInVain ? ManualTime() : nil
        let world = try ProxyWorld(
            time: time, transport: CurlTransport(time: silence, on: loop), loop: loop, configuration: row.configure)
        defer { world.stop() }
        return try OriginCaseRun(row, world, script, time, socket: origin, silence: silence).play()
    }
    #endif

    private var log: OriginLog { socket?.log ?? world.origin.log }

    // MARK: Steps

    private func play() throws -> OriginCase.Outcome {
        if row.flowsAfterBytes == 0 { time.flow() }
        var answers: [String] = []
        for step in row.steps {
            switch step {
            case .follow(let behaviours): script.follow(behaviours)
            case .route(let path, let behaviour): script.route(path, behaviour)
            case .agent(let agent, let behaviour): script.route(agent: agent, behaviour)
            case .serve(let version): serve(version)
            case .offline(let isOffline):
                world.origin.setOffline(isOffline)
                socket?.setOffline(isOffline, breaksTransfers: true)
            case .closeConnections: socket?.breakConnections()
            case .ask(let ask):
                answers.append(try words(for: ask))
                settle()
            }
        }
        // Lingering fetches end.
        time.advance(by: .seconds(5))
        settle()
        world.wait("the origin's requests are over", until: { self.log.entries.allSatisfy(\.isOver) })
        return OriginCase.Outcome(
            answers: answers.joined(separator: "; "), stored: try storedWords(), requests: row.words(for: requests))
    }

    private func serve(_ version: VirtualResource) {
        world.origin.serve(version)
        socket?.serve(version)
    }

    /// Waits until the resource has no reader and its received bytes are stored.
    private func settle() {
        world.wait("the readers left", until: { (try? self.world.status(of: self.url))??.readers ?? 0 == 0 })
    }

    /// The requests, with the row's URL in place of the socket's.
    private var requests: [OriginLog.Entry] {
        log.entries.map { entry in
            var entry = entry
            if entry.request.url == url { entry.request.url = row.resource.url }
            return entry
        }
    }

    // MARK: Answers

    private func words(for ask: OriginCase.Ask) throws -> String {
        var fields = HTTPFields()
        fields["Range"] = ask.rangeValue
        if ask.isReload { fields["Cache-Control"] = "no-cache" }
        fields["User-Agent"] = ask.agent
        let client = try world.connect()
        client.ask(target, method: ask.isHead ? "HEAD" : "GET", fields)
        if row.flowsAfterBytes == 0 { passSilence() }
        let head = try client.head()
        if ask.isHead { return "\(head.status) length \(head["Content-Length"] ?? "unknown")" }
        guard head.status < 300 else { return "\(head.status)" }
        let first = try beginning(of: head, from: client)
        let (rest, isCut) = try Self.body(of: head, after: first.count, from: client)
        let body = first + rest
        var text = "\(head.status) "
        if head["Content-Type"]?.hasPrefix("multipart/") == true {
            text += try parts(of: body)
        } else {
            text += row.words(for: body, at: head["Content-Range"].flatMap(Self.lowerBound) ?? 0)
        }
        if let coding = head["Content-Encoding"] { text += " in \(coding)" }
        return text + (isCut ? ", cut" : "")
    }

    /// The path and query under the proxy.
    private var target: String { "/" + url.replacing("://", with: "/") }

    /// The bytes that the client reads before time passes.
    private func beginning(of head: ProxyClient.Head, from client: ProxyClient) throws -> [UInt8] {
        guard let bytes = row.flowsAfterBytes, bytes > 0 else { return [] }
        defer {
            time.flow()
            passSilence()
        }
        return head.length == nil ? [] : try client.take(bytes)
    }

    /// Lets the transport give up, once the origin has sent all that it sends.
    private func passSilence() {
        guard let silence = silence.take() else { return }
        world.wait("the origin is asked", until: { !self.log.entries.isEmpty })
        silence.waitForTimer()
        silence.advance(by: .seconds(60))
    }

    private static func body(
        of head: ProxyClient.Head, after count: Int, from client: ProxyClient
    ) throws -> (bytes: [UInt8], isCut: Bool) {
        if head["Transfer-Encoding"] == "chunked" {
            var bytes: [UInt8] = []
            do {
                while let chunk = try client.chunk() { bytes += chunk }
                return (bytes, false)
            } catch ProxyClient.Failure.ended {
                return (bytes, true)
            }
        }
        let bytes = try client.take(upTo: head.length.map { $0 - count } ?? .max)
        return (bytes, head.length.map { count + bytes.count < $0 } ?? false)
    }

    private static func lowerBound(_ contentRange: String) -> Int64? {
        contentRange.split(separator: " ").last?.split(separator: "-").first.flatMap { Int64($0) }
    }

    private func parts(of body: [UInt8]) throws -> String {
        var found: [String] = []
        var rest = body[...]
        let name = Array("Content-Range: bytes ".utf8)
        while let start = rest.indices.first(where: { rest[$0...].starts(with: name) }) {
            let line = String(decoding: rest[(start + name.count)...].prefix { $0 != 13 }, as: UTF8.self)
            let bounds = line.prefix { $0 != "/" }.split(separator: "-").compactMap { Int64($0) }
            let empty = try #require(rest[start...].indices.first { rest[$0...].starts(with: [13, 10, 13, 10]) }) + 4
            rest = rest[empty...]
            let bytes = Array(rest.prefix(Int(bounds[1] - bounds[0]) + 1))
            found.append(row.words(for: bytes, at: bounds[0]))
            rest = rest.dropFirst(bytes.count)
        }
        return found.joined(separator: " and ")
    }

    // MARK: The store

    private func storedWords() throws -> String {
        try world.waitUntilIdle(url)
        let key = try world.cache.key(for: url)
        guard let status = try world.status(of: url) else { return "nothing" }
        let store = world.cache.store
        world.wait(
            "what is stored is in the index",
            until: {
                // The next tick commits a write that ended just now.
                self.time.advance(by: .seconds(1))
                return (try? store.lookup(key))??.spans ?? ByteRangeSet() == status.stored
            })
        guard let stored = try store.lookup(key) else { return "nothing" }
        let file = try store.dataFile(of: stored.generation, key: key, fileExtension: stored.fileExtension)
        return try row.words(stored: stored.spans, isComplete: status.isComplete) { range in
            var bytes = [UInt8](repeating: 0, count: Int(range.count))
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: range.lowerBound) }
            return Array(bytes.prefix(count))
        }
    }
}

extension OriginCase {
    /// Whether the origin has an IPv6 address. On a socket that is ::1.
    var isAtIPv6: Bool { resource.url.contains("[") }
}

extension OriginBehaviour {
    /// The same behaviour with `cdn.test` replaced by the machine's other name, because both
    /// origins are on this machine and `cdn.test` does not exist.
    fileprivate func elsewhere(_ request: OriginRequest) -> OriginBehaviour {
        guard case .status(let status, var fields, let body) = self, let location = fields["Location"],
            location.hasPrefix("http://cdn.test/"),
            let port = request.url.split(separator: "/").dropFirst().first?.split(separator: ":").last
        else { return self }
        fields["Location"] = "http://localhost:\(port)/" + location.dropFirst("http://cdn.test/".count)
        return .status(status, fields: fields, body: body)
    }
}

extension ProxyWorld {
    /// Waits until the resource has no reader and no fetch.
    func waitUntilIdle(_ url: String) throws {
        wait(
            "the resource is idle",
            until: { (try? self.status(of: url)).map { $0.map { $0.readers == 0 && $0.fetches == 0 } ?? true } ?? false })
    }
}
