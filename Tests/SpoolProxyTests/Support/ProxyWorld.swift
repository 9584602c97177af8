import Foundation
import Spool
import SpoolCore
import SpoolDASH
import SpoolDashboard
import SpoolOrigin
import SpoolProxy
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// The store that a test runs on.
enum StoreKind: CaseIterable, Sendable {
    /// No descriptors, so bodies are copied.
    case memory
    /// Sparse files, so bodies are sent by `sendfile`.
    case files
    /// Sealed files. Bodies are opened on the loop, or on a lane where the read has to wait for the
    /// disk.
    case encrypted
}

/// A proxy on a real socket, over a cache with real lanes, over an origin that follows a script.
final class ProxyWorld: Sendable {
    let origin: ScriptedOrigin
    let gate: OriginGate
    let cache: MediaCache
    let proxy: ProxyServer
    let dashboard: Dashboard
    private let directory: TemporaryDirectory?

    /// - Parameters:
    ///   - directory: The directory of the files, or nil for a new one.
    ///   - time: The clocks of cache and origin.
    ///   - silenceTimeout: The silence of the origin after which a fetch times out.
    ///   - transport: The transport to origins, or nil for the scripted origin's. The world follows
    ///     redirects around it.
    ///   - loop: The loop of that transport, which the proxy shares.
    ///   - repeatsAsAsked: Whether a refused request is sent once more as its client asked.
    ///   - manifestLanes: The lanes for manifests, or nil for the control lane.
    init(
        _ resources: [VirtualResource] = [], store kind: StoreKind = .memory, directory given: TemporaryDirectory? = nil,
        time: any TimeSource = SystemTime(), silenceTimeout: Nanoseconds? = nil, transport: (any Transport)? = nil,
        loop: LoopThread? = nil, repeatsAsAsked: Bool = false, manifestLanes: [any Mailbox]? = nil,
        script: @escaping OriginScript = { _, _ in .correct },
        configuration change: (inout Configuration) -> Void = { _ in }, options: (inout ProxyOptions) -> Void = { _ in },
        dashboard changeDashboard: (inout DashboardOptions) -> Void = { _ in }
    ) throws {
        var configuration = Configuration()
        configuration.readsDASH = true
        change(&configuration)
        let random = SystemRandom()
        let lanes = ["control", "index", "data-0", "data-1", "origin"].map { DiskLane(name: $0) }
        origin = ScriptedOrigin(
            resources, mailbox: lanes[4], time: time, random: random, silenceTimeout: silenceTimeout, script: script)
        gate = OriginGate(origin)
        let redirecting = RedirectingTransport(transport ?? gate, privateNames: configuration.security.privateNames)
        var environment = CacheEnvironment(
            time: time, random: random,
            transport: repeatsAsAsked ? AsAskedTransport(redirecting, time: time) : redirecting,
            loop: loop, control: lanes[0], indexLane: lanes[1], dataLanes: Array(lanes[2...3]),
            shutDown: { for lane in lanes { lane.shutdown() } })
        if let manifestLanes { environment.manifestLanes = manifestLanes }
        let directory = if let given { given } else { try kind == .memory ? nil : TemporaryDirectory() }
        self.directory = directory
        let store: any ResourceStore =
            if let directory {
                try SQLiteStore(
                    directory: directory.path, fileSystem: POSIXFileSystem(), random: random, options: Self.storeOptions(kind))
            } else {
                MemoryStore()
            }
        cache = try MediaCache(configuration: configuration, environment: environment, store: store)
        var proxyOptions = ProxyOptions()
        proxyOptions.token = nil
        options(&proxyOptions)
        var dashboardOptions = DashboardOptions()
        changeDashboard(&dashboardOptions)
        dashboard = Dashboard(cache: cache, of: proxyOptions, dashboardOptions)
        proxy = try ProxyServer(cache: cache, options: proxyOptions, ownPages: dashboard.pages)
        try proxy.start()
    }

    private static func storeOptions(_ kind: StoreKind) -> SQLiteStore.Options {
        var options = SQLiteStore.Options()
        if kind == .encrypted {
            options.encryption = EncryptionKey(bytes: [UInt8](1...32)).map { EncryptionOptions(keyProvider: .key($0)) }
        }
        return options
    }

    /// Closes everything and waits for its threads.
    func stop() {
        proxy.stop()
        closeCache()
        cache.environment.shutDown()
    }

    func closeCache() {
        let isClosed = Awaited(false)
        cache.close { isClosed.change { $0 = true } }
        #expect(isClosed.wait { $0 }, "the cache never closed")
    }

    // MARK: Clients

    var pageURL: String? { dashboard.pageURL(at: proxy) }

    var port: UInt16 {
        let authority = (proxy.baseURL ?? "").dropFirst("http://".count).prefix { $0 != "/" }
        return authority.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
    }

    func connect(receiveBuffer: Int32? = nil) throws -> ProxyClient {
        try ProxyClient(port: port, receiveBuffer: receiveBuffer)
    }

    /// Sends one request on a new connection, and returns the answer.
    func get(_ target: String, _ fields: HTTPFields = [:]) throws -> ProxyClient.Answer {
        try connect().get(target, fields)
    }

    // MARK: State

    /// The `Range` values of the origin's requests, in order.
    var asked: [String?] { origin.log.entries.map(\.range) }

    /// Expects that the origin handed over the whole resource, once.
    ///
    /// A client may be faster than the origin's log, which is written when the transport's call
    /// returns.
    func expectWholeHandedOver(_ resource: VirtualResource, sourceLocation: SourceLocation = #_sourceLocation) {
        wait(
            "the log has every byte", until: { origin.log.handedOver(resource.url).bytes >= resource.length },
            sourceLocation: sourceLocation)
        #expect(origin.log.handedOver(resource.url).bytes == resource.length, sourceLocation: sourceLocation)
    }

    func status(of url: String) throws -> ResourceStatus? {
        let answer = Awaited<Result<ResourceStatus?, CacheError>?>(nil)
        cache.status(of: try cache.key(for: url)) { result in answer.change { $0 = result } }
        guard answer.wait(until: { $0 != nil }) else { return nil }
        return try answer.value?.get()
    }

    /// Waits until the status of a resource meets `condition`, which other threads bring about.
    func wait(for url: String, until condition: (ResourceStatus) -> Bool, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let deadline = SystemTime().now + .seconds(Int64(Awaited<Bool>.hangSeconds))
        while SystemTime().now < deadline {
            if let status = try status(of: url), condition(status) { return }
            sched_yield()
        }
        let status = try status(of: url)
        Issue.record("waited in vain; last seen: \(String(describing: status))", sourceLocation: sourceLocation)
    }

    /// Waits until `count` requests have got a reader, and each reader waits for bytes.
    ///
    /// A reader counts before it waits, in the same turn of the loop. The answer to another client
    /// comes from a later turn.
    func waitForReaders(_ count: Int64, sourceLocation: SourceLocation = #_sourceLocation) throws {
        wait("each client has a reader", until: { cache.statistics.readers == count }, sourceLocation: sourceLocation)
        #expect(try get("/_spool/health").status == 200, sourceLocation: sourceLocation)
    }

    /// Waits until a condition is true that other threads bring about.
    func wait(_ what: String, until condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        let deadline = SystemTime().now + .seconds(Int64(Awaited<Bool>.hangSeconds))
        while !condition() {
            guard SystemTime().now < deadline else {
                Issue.record("waited in vain: \(what)", sourceLocation: sourceLocation)
                return
            }
            sched_yield()
        }
    }
}

extension VirtualResource {
    static let site = "http://media.example"

    /// A resource of the site that the tests play from.
    static func film(_ name: String = "film.mp4", seed: UInt64 = 1, length: Int64 = 100_000) -> VirtualResource {
        VirtualResource(url: "\(site)/\(name)", seed: seed, length: length)
    }

    /// The path and query under the proxy.
    var target: String { "/http/" + url.dropFirst("http://".count) }

    func bytes(_ range: Range<Int>) -> [UInt8] { content.bytes(at: Int64(range.lowerBound), count: range.count) }

    var allBytes: [UInt8] { content.bytes(at: 0, count: Int(length)) }
}

/// Runs `body` on `count` threads, waits for all of them, and returns their violations.
func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) throws -> [String]) -> [String] {
    let violations = Locked<[String]>([])
    let threads = (0..<count).map { index in
        SystemThread(name: "client-\(index)") {
            let found: [String]
            do { found = try body(index) } catch { found = ["client \(index): \(error)"] }
            violations.withLock { $0 += found }
        }
    }
    for thread in threads { thread.join() }
    return violations.withLock { $0 }
}

/// A directory for one test. It is removed with its contents when the test releases it.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("spool-proxy-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch { print("left behind: \(path): \(error)") }
    }
}
