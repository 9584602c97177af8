import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A cache with real lanes over an origin with several resources and a store in memory. `Bench` is
/// the counterpart for a single resource.
final class EngineWorld: Sendable {
    let origin: ScriptedOrigin
    let cache: MediaCache
    let events = EventRecorder()
    private let dataLanes: [DiskLane]

    init(
        _ resources: [VirtualResource], store: any ResourceStore = MemoryStore(), time: any TimeSource = SystemTime(),
        transport: (any Transport)? = nil, configuration change: (inout Configuration) -> Void = { _ in },
        script: @escaping OriginScript = { _, _ in .correct }
    ) throws {
        let random = SystemRandom()
        let lanes = ["control", "index", "data-0", "data-1", "origin"].map { DiskLane(name: $0) }
        origin = ScriptedOrigin(resources, mailbox: lanes[4], time: time, random: random, script: script)
        dataLanes = Array(lanes[2...3])
        var configuration = Configuration()
        configuration.events = [events]
        change(&configuration)
        let environment = CacheEnvironment(
            time: time, random: random, transport: transport ?? origin, control: lanes[0], indexLane: lanes[1],
            dataLanes: dataLanes,
            shutDown: { for lane in lanes { lane.shutdown() } })
        cache = try MediaCache(configuration: configuration, environment: environment, store: store)
    }

    func key(_ resource: VirtualResource) throws -> ResourceKey { try cache.key(for: resource.url) }

    /// Waits until the status of a resource meets `condition`, which other threads bring about.
    func status(of resource: VirtualResource, when condition: (ResourceStatus) -> Bool) async throws -> ResourceStatus {
        var last: ResourceStatus?
        do {
            return try await eventually("the status of \(resource.url) met the condition") {
                last = try await cache.status(of: key(resource))
                return last.flatMap { condition($0) ? $0 : nil }
            }
        } catch let never as NeverCame {
            let known = last.map { "\($0)" } ?? "nothing"
            throw NeverCame(condition: "\(never.condition); the status is \(known); passed on without being stored: \(passes)")
        }
    }

    /// Plays a resource to its end, and waits until all of it is in the index and it has no fetch
    /// and no reader.
    func play(_ resource: VirtualResource) async throws {
        let bytes = try await cache.reader(for: resource.url).bytes()
        #expect(bytes == expected(resource, 0..<resource.length))
        _ = try await status(of: resource) { $0.isComplete && $0.fetches == 0 && $0.readers == 0 }
        // The last bytes may wait for a timer, which a clock that is moved by hand does not fire.
        try await withCheckedContinuation { continuation in cache.enterReceived { continuation.resume(returning: $0) } }.get()
        #expect(try await indexedBytes(of: resource) == resource.length)
    }

    /// Waits until the jobs are over that the data lanes have now.
    func dataLanesAreDone() async {
        for lane in dataLanes { await withCheckedContinuation { continuation in lane.post { continuation.resume() } } }
    }

    /// The number of bytes that the index lists for a resource.
    private func indexedBytes(of resource: VirtualResource) async throws -> Int64 {
        let key = try key(resource), store = cache.store
        return try await withCheckedContinuation { (continuation: CheckedContinuation<Result<Int64, CacheError>, Never>) in
            cache.onIndexLane(key, { continuation.resume(returning: $0) }) { () throws(StoreError) in
                try store.lookup(key)?.spans.totalBytes ?? 0
            }
        }.get()
    }

    /// The reasons why resources were passed on without being stored, in order.
    var passes: [String] {
        events.all.compactMap { if case .degradedToPassthrough(_, let reason) = $0 { reason } else { nil } }
    }

    /// The bytes of the range as the origin has them.
    func expected(_ resource: VirtualResource, _ range: Range<Int64>) -> [UInt8] {
        resource.content.bytes(at: range.lowerBound, count: Int(range.count))
    }
}

/// Keeps all events.
final class EventRecorder: EventSink {
    private let state = Locked<[CacheEvent]>([])

    func record(_ event: CacheEvent) { state.withLock { $0.append(event) } }

    var all: [CacheEvent] { state.withLock { $0 } }
}

extension ByteReader {
    /// All bytes of the resource.
    func bytes() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in chunks() { bytes += chunk }
        return bytes
    }
}
