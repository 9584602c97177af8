package import Spool
package import SpoolCore
package import SpoolOrigin
package import SpoolStore
package import SpoolSystem
package import SpoolTesting

/// A whole cache on a simulated machine: scripted origin, virtual time, a store in memory or on a
/// faulty disk, and readers.
///
/// Everything follows from the seed. A test adds readers and trouble, calls ``run()``, and reads
/// ``violations``.
package final class World {
    /// The settings and faults of a world.
    package struct Plan: Sendable {
        /// Whether the store is SQLite on a disk in memory. Otherwise it is a store in memory.
        package var usesDisk = false
        /// The faults of that disk.
        package var diskFaults = FaultPlan.none
        /// The disk at the start, as an earlier world left it, or nil for an empty one.
        package var disk: MemoryDisk?
        /// The identity of this start of the machine. It differs from the one before after a power
        /// loss.
        package var bootID = "first boot"
        /// The number of data files that stay open on the disk, or nil for that of an app.
        package var keptFiles: Int?
        /// The most bytes that a store in memory holds.
        package var capacityBytes: Int64 = 256 << 20
        /// The most bytes that one request should ask for, as the transport reports it.
        package var windowBytes: Int64?
        /// The number of receive buffers of the cache.
        package var buffers = 16
        /// The most requests at once to one host.
        package var fetchesPerHost = 6
        /// The most bytes that stored media may occupy, or nil for no limit. On a disk this is
        /// checked after every step.
        package var quotaBytes: Int64?
        /// The eviction policy of the cache.
        package var policy: any EvictionPolicy = LeastRecentlyUsed()
        /// Returns the transport of the cache, around that of the origin and on a lane of the disk.
        package var transportAround: @Sendable (any Transport, any Mailbox) -> any Transport = { transport, _ in transport }
        /// Further changes of the configuration.
        package var configure: @Sendable (inout Configuration) -> Void = { _ in }

        /// Creates the default plan: a store in memory without faults.
        package init() {}
    }

    /// The most steps of a run. A longer one is a livelock.
    package static let maxSteps = 200_000
    private static let directory = "/cache"

    /// The simulator that runs the world.
    package let simulator: Simulator
    /// The origin of all resources.
    package let origin: ScriptedOrigin
    /// The disk in memory, unused without `usesDisk`.
    package let disk: MemoryDisk
    /// The plan of the world.
    package let plan: Plan
    /// The store of the cache.
    package let store: any ResourceStore
    /// The cache.
    package let cache: MediaCache
    /// The readers that were added, in order.
    package private(set) var readers: [WorldReader] = []
    /// Every version that each resource had, oldest first, by URL.
    package private(set) var versions: [String: [VirtualResource]] = [:]
    /// The versions that mistakes of the origin make of these.
    private var recognised: [String: [VirtualResource]] = [:]
    /// The violations found so far, at most 10.
    package private(set) var violations: [String] = []

    /// Creates a world.
    ///
    /// - Throws: The error of the store if it can't be opened.
    package init(seed: UInt64, plan: Plan = Plan()) throws {
        self.plan = plan
        simulator = Simulator(seed: seed)
        origin = ScriptedOrigin(
            mailbox: simulator.mailbox("origin"), time: simulator, random: simulator, windowBytes: plan.windowBytes)
        disk = plan.disk ?? MemoryDisk()
        store =
            plan.usesDisk
            ? try Self.open(disk, plan, random: simulator) : MemoryStore(capacityBytes: plan.capacityBytes)
        disk.setFaults(plan.diskFaults)
        var configuration = Configuration()
        configuration.fetching.bufferCount = plan.buffers
        configuration.fetching.maximumFetchesPerHost = plan.fetchesPerHost
        configuration.fetching.readAheadBytes = 256 << 10
        configuration.limits.quotaBytes = plan.quotaBytes
        configuration.limits.policy = plan.policy
        plan.configure(&configuration)
        let data = [simulator.mailbox("data 0"), simulator.mailbox("data 1")]
        var environment = CacheEnvironment(
            time: simulator, random: simulator, transport: plan.transportAround(RedirectingTransport(origin), data[0]),
            control: simulator.mailbox("control"), indexLane: simulator.mailbox("index"),
            dataLanes: data)
        environment.syncLane = simulator.mailbox("sync")
        cache = try MediaCache(configuration: configuration, environment: environment, store: store)
    }

    private static func open(_ disk: MemoryDisk, _ plan: Plan, random: any RandomSource) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.bootID = plan.bootID
        if let kept = plan.keptFiles { options.openFiles = OpenFileLimits(keptFiles: kept, unsyncedHandles: kept) }
        return try SQLiteStore(directory: directory, fileSystem: disk, random: random, options: options)
    }

    // MARK: What happens in it

    /// Serves a resource, or another version of one, from now on.
    package func serve(_ resource: VirtualResource) {
        versions[resource.url, default: []].append(resource)
        origin.serve(resource)
    }

    /// Accepts bytes of this version as well, although the origin never serves it directly:
    /// mistakes of the origin turn another version into it.
    package func recognise(_ version: VirtualResource) {
        recognised[version.url, default: []].append(version)
    }

    /// Returns all versions that bytes of a resource may belong to.
    func rightVersions(of url: String) -> [VirtualResource] { recognised[url, default: []] + versions[url, default: []] }

    /// Adds a reader that joins after `delay`.
    package func read(_ script: WorldReader.Script, after delay: Nanoseconds = 0) {
        let reader = WorldReader(number: readers.count + 1, script: script, world: self)
        readers.append(reader)
        later(delay) { reader.join() }
    }

    /// Runs `job` at a moment of virtual time.
    package func later(_ delay: Nanoseconds, _ job: @escaping @Sendable () -> Void) {
        _ = simulator.after(delay, on: control, job)
    }

    private lazy var control = simulator.mailbox("world")

    /// Returns a random number in a range.
    package func number(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(simulator.next(below: UInt64(range.upperBound - range.lowerBound) + 1))
    }

    func violated(_ words: String) {
        if violations.count < 10 { violations.append(words) }
    }

    // MARK: Running

    /// Runs until every reader is done, checking the invariants after each step. Then closes the
    /// cache and checks the stored bytes.
    package func run() {
        var steps = 0
        while !readers.allSatisfy(\.isOver), violations.isEmpty {
            guard steps < Self.maxSteps else { return violated("no end after \(steps) steps: \(unfinished)") }
            guard simulator.step() else { return violated("the world stands still and there wait \(unfinished)") }
            steps += 1
            for violation in cache.catalog.violations { violated(violation) }
            checkQuota()
        }
        guard violations.isEmpty else { return }
        if !plan.usesDisk { checkStored(store) }
        close()
        if plan.usesDisk { checkDisk() }
    }

    /// Closes the cache at any moment, and runs until nothing is left to do.
    package func close() {
        let isClosed = Locked(false)
        cache.close { isClosed.withLock { $0 = true } }
        if !simulator.run(until: { isClosed.withLock { $0 } }, maxSteps: Self.maxSteps) { violated("the cache does not close") }
        simulator.runUntilIdle(maxSteps: Self.maxSteps)
    }

    /// Runs a number of steps, checking the invariants after each, for worlds that are stopped in
    /// the middle.
    package func run(steps: Int) {
        for _ in 0..<steps where violations.isEmpty {
            guard simulator.step() else { return }
            for violation in cache.catalog.violations { violated(violation) }
            checkQuota()
        }
    }

    /// Releases everything. Called at the end, because waiting jobs hold the world.
    package func shutdown() {
        simulator.shutdown()
        // A script that uses the world holds it, too.
        origin.follow { _, _ in .correct }
    }

    private var unfinished: String { readers.filter { !$0.isOver }.map { "\($0)" }.joined(separator: ", ") }

    // MARK: What is stored

    /// The most bytes that may be stored beyond the quota at any moment: one write of a pool
    /// buffer.
    private static let writeBytes: Int64 = 1 << 20

    private func checkQuota() {
        guard let quota = plan.quotaBytes, plan.usesDisk else { return }
        let index = ["", "-wal", "-shm", "-journal"].map { "\(Self.directory)/spool.sqlite\($0)" }
        let occupied = disk.allocatedBytes(except: index + ["\(Self.directory)/lock"])
        if occupied > quota + Self.writeBytes { violated("\(occupied) bytes are occupied, the quota is \(quota)") }
    }

    /// Checks that a next start finds each byte of the index in its file, with the right value.
    private func checkDisk() {
        disk.setFaults(.none)
        do {
            let store = try Self.open(disk.crash(), plan, random: simulator)
            checkStored(store)
            try store.close()
        } catch {
            violated("the store does not open again: \(error)")
        }
    }

    private func checkStored(_ store: any ResourceStore) {
        do {
            for resource in try store.resources(after: nil, limit: 1000) where !resource.spans.isEmpty {
                let known = rightVersions(of: resource.url)
                let named = known.filter {
                    $0.entityTag.map { .strong(entityTag: $0) } == resource.representation.validator
                }
                let file = try store.dataFile(of: resource.generation, key: resource.key, fileExtension: resource.fileExtension)
                // Bytes that do not match their checks are left out, as for readers.
                let damaged = try store.damagedSpans(of: resource, in: file)
                let spans = resource.spans.subtracting(damaged).ranges
                // If the validator names no version, the bytes still have to belong to one version.
                let candidates = named.isEmpty ? known : named
                let found = try candidates.map { version in try spans.compactMap { try mistake(in: $0, of: version, file) } }
                if let first = found.first, !found.contains(where: \.isEmpty) {
                    violated("\(resource.url) as \(resource.representation.validator): \(first.joined(separator: "; "))")
                }
            }
        } catch {
            violated("the store can't be read: \(error)")
        }
    }

    /// Returns the bytes of a resource that a next start would find stored. Only for a world with a
    /// disk.
    package func storedBytes(of url: String) throws -> ByteRangeSet {
        let store = try Self.open(disk.crash(), plan, random: simulator)
        let resource = try store.resources(after: nil, limit: 1000).first { $0.url == url }
        try store.close()
        return resource?.spans ?? ByteRangeSet()
    }

    /// Returns the mistake in a stored span if it belongs to this version, or nil if there is none.
    private func mistake(in span: ByteRange, of version: VirtualResource, _ file: any DataFile) throws -> String? {
        guard span.upperBound <= version.length else { return "\(span) of \(version.length) bytes is stored" }
        var bytes = [UInt8](repeating: 0, count: Int(span.count))
        let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: span.lowerBound) }
        let difference = bytes.withUnsafeBytes { version.content.firstDifference(in: $0, at: span.lowerBound) }
        guard count < bytes.count || difference != nil else { return nil }
        return "stored \(span) of \(version.url) is not what the origin sent: \(count) bytes read, difference at \(difference ?? count)"
    }
}
