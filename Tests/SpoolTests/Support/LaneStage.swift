import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Keeps jobs until the test runs them.
final class HeldMailbox: Mailbox {
    private let jobs = Locked<[@Sendable () -> Void]>([])

    func post(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

    var count: Int { jobs.withLock { $0.count } }

    func runAll() {
        let waiting = jobs.withLock { jobs in
            defer { jobs = [] }
            return jobs
        }
        for job in waiting { job() }
    }
}

/// Passes jobs on, except while it delays them. Delayed jobs stand for threads that were about to
/// post when another thread took the core.
final class BelatedMailbox: Mailbox {
    private let base: any Mailbox
    private let late = Locked<(isOn: Bool, jobs: [@Sendable () -> Void])>((false, []))

    init(_ base: any Mailbox) { self.base = base }

    func post(_ job: @escaping @Sendable () -> Void) {
        let isLate = late.withLock { late in
            if late.isOn { late.jobs.append(job) }
            return late.isOn
        }
        if !isLate { base.post(job) }
    }

    /// Sets whether jobs posted from now on are late.
    func delay(_ isOn: Bool) { late.withLock { $0.isOn = isOn } }

    /// The number of late jobs.
    var count: Int { late.withLock { $0.jobs.count } }

    /// Delivers the late jobs: their threads run again.
    func deliver() {
        let jobs = late.withLock { late in
            defer { late = (false, []) }
            return late.jobs
        }
        for job in jobs { base.post(job) }
    }
}

/// A cache in a simulated world whose disk can be held.
struct LaneStage {
    let simulator = Simulator(seed: 1)
    let disk: MemoryDisk
    let sync = HeldMailbox()
    let data: BelatedMailbox
    let index: BelatedMailbox
    let storeOptions: SQLiteStore.Options = {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        return options
    }()
    let store: SQLiteStore
    let cache: MediaCache

    /// - Parameters:
    ///   - data: The lane that writes files, or nil for a lane of the simulator.
    ///   - script: The behaviour of the origin.
    ///   - isRecording: Whether the disk records its operations.
    init(
        _ resources: [VirtualResource], data: (any Mailbox)? = nil, isRecording: Bool = false,
        configuration change: (inout Configuration) -> Void = { _ in }, script: @escaping OriginScript = { _, _ in .correct }
    ) throws {
        disk = MemoryDisk(isRecording: isRecording)
        store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: simulator, options: storeOptions)
        let origin = ScriptedOrigin(
            resources, mailbox: simulator.mailbox("origin"), time: simulator, random: simulator, script: script)
        self.data = BelatedMailbox(data ?? simulator.mailbox("data"))
        index = BelatedMailbox(simulator.mailbox("index"))
        var configuration = Configuration()
        change(&configuration)
        var environment = CacheEnvironment(
            time: simulator, random: simulator, transport: origin, control: simulator.mailbox("control"),
            indexLane: index, dataLanes: [self.data])
        environment.syncLane = sync
        cache = try MediaCache(configuration: configuration, environment: environment, store: store)
    }

    /// Reads a resource to its end, or for `steps` steps of the simulator, and returns its bytes.
    func play(_ resource: VirtualResource, steps: Int = .max) throws -> [UInt8] {
        try read(cache.sessionReader(for: resource.url, start: 0, end: nil, wantsBytes: true, wake: {}), steps: steps)
    }

    /// Reads to the end of a reader, or for `steps` steps of the simulator, and returns the bytes.
    func read(_ reader: SessionReader, steps: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var left = steps
        while true {
            switch reader.next(max: 1 << 20) {
            case .file(let file, let range):
                bytes += try file.bytes(at: range.lowerBound, count: Int(range.count))
                reader.advance(by: Int(range.count), fromOrigin: false)
            case .memory(let part):
                part.withBytes { bytes += $0 }
                reader.advance(by: part.count, fromOrigin: true)
            case .wait:
                left -= 1
                if left == 0 || !simulator.step() { return bytes }
            case .end: return bytes
            case .failed(let error): throw error
            }
        }
    }

    /// Makes a call, lets the simulator run until it is over, and returns its result.
    func result<Value: Sendable>(_ call: (@escaping Completion<Value>) -> Void) throws -> Value {
        let found = Locked<Result<Value, CacheError>?>(nil)
        call { result in found.withLock { $0 = result } }
        #expect(simulator.run(until: { found.withLock { $0 != nil } }))
        return try #require(found.withLock { $0 }).get()
    }

    /// The list of downloads.
    func downloads(
        _ body: @escaping @Sendable (inout DownloadList) throws(CacheError) -> [ResourceKey] = { _ in [] }
    ) throws -> DownloadList {
        try result { done in cache.downloads.change(done, body) }
    }

    /// Adds a download, and starts the list.
    func download(_ url: String, details: DownloadDetails? = nil) throws {
        let key = try cache.key(for: url)
        _ = try downloads { list in
            list.isStarted = true
            return list.add(key, url: url, group: "", priority: 0, details: details) ? [key] : []
        }
    }
}
