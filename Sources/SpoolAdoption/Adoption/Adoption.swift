import Spool
import SpoolCore
import SpoolStore
import SpoolSystem

/// One adoption: reads the whole index of a store first, and then imports one resource after the
/// other.
///
/// A lane reads the files, because the thread of a task must not wait for a disk. One task uses an
/// adoption.
final class Adoption {
    /// The number of bytes of two files that are compared at a time.
    private static let comparedBytes: Int64 = 256 << 10

    private let cache: MediaCache
    private let directory: String
    private let options: AdoptionOptions
    private let progress: @Sendable (AdoptionProgress) -> Void
    private let moved = Locked(AdoptionProgress(doneBytes: 0, totalBytes: 0))
    private var keys: Set<ResourceKey> = []
    /// The room of the resources that a dry run would take.
    private var plannedBytes: Int64 = 0
    private var plannedCount = 0

    /// - Parameter progress: Called on a thread of the cache.
    init(
        _ cache: MediaCache, _ directory: String, _ options: AdoptionOptions, _ progress: @escaping @Sendable (AdoptionProgress) -> Void
    ) {
        self.cache = cache
        self.directory = directory
        self.options = options
        self.progress = progress
    }

    /// Adopts the store. To be called once.
    ///
    /// - Throws: As `MediaCache.adopt(_:options:progress:)`.
    func run() async throws(CacheError) -> AdoptionReport {
        let store = try await onLane { [directory, options] _ throws(CacheError) in
            try ForeignDirectory(directory, limits: AdoptionLimits()).store(mappingFile: options.mappingFile)
        }
        var report = AdoptionReport(format: store.format)
        report.entries = store.refusals.map(AdoptionReport.Entry.init)
        moved.withLock { $0.totalBytes = store.resources.reduce(0) { $0.addingSaturated($1.bytes) } }
        progress(moved.withLock { $0 })
        do throws(CacheError) {
            for resource in store.resources {
                if Task.isCancelled { throw CacheError(.cancelled, "the adoption was cancelled") }
                let outcome = try await adopt(resource)
                report.entries.append(AdoptionReport.Entry(name: resource.name, url: resource.url, outcome: outcome))
            }
        } catch {
            throw CacheError(
                error.code, "\(error.message); \(report.takenCount) resources were taken before", key: error.key, cause: error)
        }
        return report
    }

    /// Runs `body` on the lane for slow reads.
    private func onLane<Value: Sendable>(
        _ body: @escaping @Sendable (TransferCancellation) throws(CacheError) -> Value
    ) async throws(CacheError) -> Value {
        // The lane of a closed cache runs no jobs.
        guard !cache.isClosed else { throw CacheError(.closed, "the cache is closed") }
        return try await TransferCancellation.run { [lane = cache.environment.syncLane] cancellation, done in
            lane.post { done(Result { () throws(CacheError) in try body(cancellation) }) }
        }
    }

    // MARK: One resource

    /// Adopts a resource that fits into the store without an eviction. Stored resources, adopted or
    /// not, stay.
    ///
    /// - Throws: An error that the other resources would meet, too.
    private func adopt(_ resource: ForeignResource) async throws(CacheError) -> AdoptionReport.Entry.Outcome {
        let key: ResourceKey
        do throws(CacheError) { key = try cache.key(for: resource.url) } catch { return .failed(error.message) }
        guard keys.insert(key).inserted else { return .leftOut("another entry of the store has the same resource, \(key)") }
        guard resource.bytes > 0 || resource.length == 0 else { return .leftOut("all of its bytes are missing") }
        if !resource.twins.isEmpty {
            let reason = try await onLane { [directory] cancellation in Self.disagreement(resource, in: directory, cancellation) }
            if let reason { return .failed(reason) }
        }
        let isTied = resource.isComplete || resource.validator.isStrong
        guard isTied || options.trustsParts else { return .leftOut(Self.untied(resource)) }
        if let stored = try await cache.status(of: key), !stored.stored.isEmpty, !options.replacesStored {
            return .leftOut("the cache has bytes of it already")
        }
        let needed = resource.parts.reduce(0 as Int64) { $0.addingSaturated(FileImport.mostBytes(of: $1.range, in: cache)) }
        let room = try await cache.onIndexLane(key) { [cache] () throws(StoreError) in try FileImport.spareRoom(in: cache) }
        if let reason = missingRoom(needed, room) { return .leftOut(reason) }
        guard !options.isDryRun else {
            plannedBytes = plannedBytes.addingSaturated(needed)
            plannedCount += 1
            return .taken(bytes: resource.bytes, length: resource.length)
        }
        return isTied ? try await store(resource, key, version: nil) : try await storePart(resource, key)
    }

    /// The reason why a resource does not fit, or nil.
    private func missingRoom(_ needed: Int64, _ room: SpareRoom) -> String? {
        if let left = room.bytes.map({ max(0, $0.subtractingSaturated(plannedBytes)) }), needed > left {
            return "the store has no room for it: it may need \(needed) bytes, and \(left) are left; an adoption evicts nothing"
        }
        if let left = room.count, plannedCount >= left { return "the store keeps no more resources; an adoption evicts nothing" }
        return nil
    }

    // MARK: Storing

    private static func untied(_ resource: ForeignResource) -> String {
        "it has \(resource.bytes) of \(resource.length) bytes, and no strong validator that names their version"
    }

    /// Makes the part one of the version that the origin has now, if that can be the same one.
    private func storePart(_ resource: ForeignResource, _ key: ResourceKey) async throws(CacheError) -> AdoptionReport.Entry.Outcome {
        let version: Representation
        do throws(CacheError) {
            var options = ReadOptions()
            options.endsSoon = true
            options.priority = .prefetch
            let reader = try cache.reader(for: resource.url, options: options)
            defer { reader.cancel() }
            version = try await reader.contentInformation()
        } catch {
            return .failed("\(Self.untied(resource)), and the origin did not name its own: \(error.message)")
        }
        if let reason = Self.mismatch(version, resource) { return .leftOut("\(Self.untied(resource)), and \(reason)") }
        return try await store(resource, key, version: version)
    }

    /// The reason why a part can't be one of this version, or nil.
    private static func mismatch(_ version: Representation, _ resource: ForeignResource) -> String? {
        guard version.isContent, version.contentCoding == nil else { return "the origin answers with something else" }
        guard version.length == resource.length else { return "the origin has another length" }
        guard version.validator.isStrong else { return "the origin has no strong validator either" }
        return CacheControl(version.fields).noStore ? "the origin forbids to store it" : nil
    }

    private func store(
        _ resource: ForeignResource, _ key: ResourceKey, version: Representation?
    ) async throws(CacheError) -> AdoptionReport.Entry.Outcome {
        let parts = resource.parts.map { ImportSource.Part(path: directory + "/" + $0.path, offset: $0.offset, range: $0.range) }
        var options = ImportOptions()
        options.contentType = resource.contentType
        options.validator = resource.validator
        // The question has stored the head of a response.
        options.replacesStored = self.options.replacesStored || version != nil
        let request = FileImport.Request(
            source: .parts(parts, name: directory + "/" + resource.name, length: resource.length), url: resource.url, key: key,
            options: options, version: version)
        let report: @Sendable (Int64) -> Void = { [moved, progress] bytes in
            let now = moved.withLock { moved in
                moved.doneBytes = moved.doneBytes.addingSaturated(bytes)
                return moved
            }
            progress(now)
        }
        do throws(CacheError) {
            let file = try await TransferCancellation.run { FileImport.start(request, in: cache, $0, report, $1) }
            return .taken(bytes: file.bytes, length: resource.length)
        } catch {
            if [.store, .storeLocked, .key, .closed, .cancelled].contains(error.code) { throw error }
            return .failed(error.message)
        }
    }

    // MARK: Bytes that are stored twice

    /// The reason why two files can't be of one version, or nil.
    private static func disagreement(_ resource: ForeignResource, in directory: String, _ cancellation: TransferCancellation) -> String? {
        do throws(SystemError) {
            for twin in resource.twins {
                for part in resource.parts(in: twin.range) where try !areEqual(part, twin.part(part.range), in: directory, cancellation) {
                    return "two of its files, \(part.path) and \(twin.path), have different bytes at the same place"
                }
            }
            return nil
        } catch { return "can't read it: \(error)" }
    }

    /// Whether the bytes of two parts with one range are equal.
    private static func areEqual(
        _ a: ImportSource.Part, _ b: ImportSource.Part, in directory: String, _ cancellation: TransferCancellation
    ) throws(SystemError) -> Bool {
        let system = POSIXFileSystem()
        let first = try system.open(directory + "/" + a.path, .read)
        let second = try system.open(directory + "/" + b.path, .read)
        var done: Int64 = 0
        while done < a.range.count {
            let count = Int(min(comparedBytes, a.range.count.subtractingSaturated(done)))
            let (left, right) = (
                try first.bytes(a.offset.addingSaturated(done), count), try second.bytes(b.offset.addingSaturated(done), count)
            )
            guard left == right, left.count == count, !cancellation.isCancelled else { return cancellation.isCancelled }
            done = done.addingSaturated(Int64(count))
        }
        return true
    }
}

extension AdoptionReport.Entry {
    fileprivate init(_ refusal: ForeignRefusal) {
        self.init(
            name: refusal.name, url: refusal.url, outcome: refusal.isDamaged ? .failed(refusal.reason) : .leftOut(refusal.reason))
    }
}
