package import Spool
package import SpoolCore
import SpoolStore
import SpoolSystem

/// One adoption: reads the whole index of a store first, and then imports one resource after the
/// other.
package final class Adoption: Sendable {
    private struct State {
        /// The resources to come, the next one at the end.
        var rest: [ForeignResource] = []
        var keys: Set<ResourceKey> = []
        var report = AdoptionReport(format: .files)
        var progress = AdoptionProgress(doneBytes: 0, totalBytes: 0)
        /// The room of the resources that a dry run would take.
        var plannedBytes: Int64 = 0
        var plannedCount = 0
    }

    /// The number of bytes of two files that are compared at a time.
    private static let comparedBytes: Int64 = 256 << 10

    private let cache: MediaCache
    private let directory: String
    private let options: AdoptionOptions
    private let cancellation: TransferCancellation
    private let progress: @Sendable (AdoptionProgress) -> Void
    private let done: @Sendable (Result<AdoptionReport, CacheError>) -> Void
    private let lane: any Mailbox
    private let state = Locked(State())
    private let limits = AdoptionLimits()

    /// Creates an adoption, which calls `done` on a lane.
    package init(
        _ cache: MediaCache, _ directory: String, _ options: AdoptionOptions, _ cancellation: TransferCancellation,
        _ progress: @escaping @Sendable (AdoptionProgress) -> Void, _ done: @escaping @Sendable (Result<AdoptionReport, CacheError>) -> Void
    ) {
        self.cache = cache
        self.directory = directory
        self.options = options
        self.cancellation = cancellation
        self.progress = progress
        self.done = done
        lane = cache.environment.syncLane
    }

    // MARK: Beginning

    /// Begins. To be called once.
    package func start() {
        guard !cache.isClosed else { return done(.failure(CacheError(.closed, "the cache is closed"))) }
        lane.post { [self] in
            do throws(CacheError) {
                let directory = try ForeignDirectory(directory, limits: limits)
                begin(try directory.store(mappingFile: options.mappingFile))
            } catch { done(.failure(error)) }
        }
    }

    private func begin(_ store: ForeignStore) {
        let now = state.withLock { state in
            state.report = AdoptionReport(format: store.format)
            state.report.entries = store.refusals.map(AdoptionReport.Entry.init)
            state.rest = store.resources.reversed()
            state.progress.totalBytes = store.resources.reduce(0) { $0.addingSaturated($1.bytes) }
            return state.progress
        }
        progress(now)
        next()
    }

    // MARK: One resource

    /// Begins with the next resource. Runs on the lane.
    private func next() {
        if cancellation.isCancelled { return stop(CacheError(.cancelled, "the adoption was cancelled")) }
        guard let resource = state.withLock({ $0.rest.popLast() }) else {
            return done(.success(state.withLock { $0.report }))
        }
        let key: ResourceKey
        do throws(CacheError) { key = try cache.key(for: resource.url) } catch { return end(resource, .failed(error.message)) }
        guard state.withLock({ $0.keys.insert(key).inserted }) else {
            return end(resource, .leftOut("another entry of the store has the same resource, \(key)"))
        }
        guard resource.bytes > 0 || resource.length == 0 else { return end(resource, .leftOut("all of its bytes are missing")) }
        if let reason = disagreement(resource) { return end(resource, .failed(reason)) }
        let isTied = resource.isComplete || resource.validator.isStrong
        guard isTied || options.trustsParts else { return end(resource, .leftOut(Self.untied(resource))) }
        cache.status(of: key) { [self] status in
            lane.post { [self] in
                switch status {
                case .failure(let error): stop(error)
                case .success(let stored?) where !stored.stored.isEmpty && !options.replacesStored:
                    end(resource, .leftOut("the cache has bytes of it already"))
                case .success: checkRoom(for: resource, key, isTied: isTied)
                }
            }
        }
    }

    // MARK: Room

    /// Goes on with a resource that fits into the store without an eviction, and leaves out any
    /// other. Stored resources, adopted or not, stay.
    private func checkRoom(for resource: ForeignResource, _ key: ResourceKey, isTied: Bool) {
        let needed = resource.parts.reduce(0 as Int64) { $0.addingSaturated(FileImport.mostBytes(of: $1.range, in: cache)) }
        cache.onIndexLane(
            key,
            { [self] (room: Result<SpareRoom, CacheError>) in
                lane.post { [self] in
                    do throws(CacheError) {
                        if let reason = missingRoom(needed, try room.get()) { return end(resource, .leftOut(reason)) }
                        if options.isDryRun {
                            state.withLock { state in
                                state.plannedBytes = state.plannedBytes.addingSaturated(needed)
                                state.plannedCount += 1
                            }
                            end(resource, .taken(bytes: resource.bytes, length: resource.length))
                        } else if isTied {
                            store(resource, key, version: nil)
                        } else {
                            askOrigin(resource, key)
                        }
                    } catch { stop(error) }
                }
            }
        ) { [cache] () throws(StoreError) in try FileImport.spareRoom(in: cache) }
    }

    /// The reason why a resource does not fit, or nil.
    private func missingRoom(_ needed: Int64, _ room: SpareRoom) -> String? {
        let (bytes, count) = state.withLock { ($0.plannedBytes, $0.plannedCount) }
        if let left = room.bytes.map({ max(0, $0 - bytes) }), needed > left {
            return "the store has no room for it: it may need \(needed) bytes, and \(left) are left; an adoption evicts nothing"
        }
        if let left = room.count, count >= left { return "the store keeps no more resources; an adoption evicts nothing" }
        return nil
    }

    // MARK: Storing

    private static func untied(_ resource: ForeignResource) -> String {
        "it has \(resource.bytes) of \(resource.length) bytes, and no strong validator that names their version"
    }

    /// Makes the part one of the version that the origin has now, if that can be the same one.
    private func askOrigin(_ resource: ForeignResource, _ key: ResourceKey) {
        VersionQuestion.ask(cache, for: resource.url, on: lane) { [self] answer in
            switch answer {
            case .failure(let error):
                end(resource, .failed("\(Self.untied(resource)), and the origin did not name its own: \(error.message)"))
            case .success(let version):
                if let reason = Self.mismatch(version, resource) {
                    end(resource, .leftOut("\(Self.untied(resource)), and \(reason)"))
                } else {
                    store(resource, key, version: version)
                }
            }
        }
    }

    /// The reason why a part can't be one of this version, or nil.
    private static func mismatch(_ version: Representation, _ resource: ForeignResource) -> String? {
        guard version.isContent, version.contentCoding == nil else { return "the origin answers with something else" }
        guard version.length == resource.length else { return "the origin has another length" }
        guard version.validator.isStrong else { return "the origin has no strong validator either" }
        return CacheControl(version.fields).noStore ? "the origin forbids to store it" : nil
    }

    private func store(_ resource: ForeignResource, _ key: ResourceKey, version: Representation?) {
        let parts = resource.parts.map { ImportSource.Part(path: directory + "/" + $0.path, offset: $0.offset, range: $0.range) }
        var options = ImportOptions()
        options.contentType = resource.contentType
        options.validator = resource.validator
        // The question has stored the head of a response.
        options.replacesStored = self.options.replacesStored || version != nil
        let request = FileImport.Request(
            source: .parts(parts, name: directory + "/" + resource.name, length: resource.length), url: resource.url, key: key,
            options: options, version: version)
        let report: @Sendable (Int64) -> Void = { [self] bytes in
            let now = state.withLock { state in
                state.progress.doneBytes = state.progress.doneBytes.addingSaturated(bytes)
                return state.progress
            }
            progress(now)
        }
        FileImport.start(request, in: cache, cancellation, report) { [self] result in
            lane.post { [self] in
                switch result {
                case .success(let file): end(resource, .taken(bytes: file.bytes, length: resource.length))
                case .failure(let error) where Self.endsAll(error): stop(error)
                case .failure(let error): end(resource, .failed(error.message))
                }
            }
        }
    }

    /// Whether the other resources would fail, too.
    private static func endsAll(_ error: CacheError) -> Bool {
        [.store, .storeLocked, .key, .closed, .cancelled].contains(error.code)
    }

    // MARK: Ending

    private func end(_ resource: ForeignResource, _ outcome: AdoptionReport.Entry.Outcome) {
        state.withLock { $0.report.entries.append(AdoptionReport.Entry(name: resource.name, url: resource.url, outcome: outcome)) }
        lane.post { [self] in next() }
    }

    private func stop(_ error: CacheError) {
        let count = state.withLock { $0.report.takenCount }
        done(.failure(CacheError(error.code, "\(error.message); \(count) resources were taken before", key: error.key, cause: error)))
    }

    // MARK: Bytes that are stored twice

    /// The reason why two files can't be of one version, or nil.
    private func disagreement(_ resource: ForeignResource) -> String? {
        do throws(SystemError) {
            for twin in resource.twins {
                for part in resource.parts(in: twin.range) where try !areEqual(part, twin.part(part.range)) {
                    return "two of its files, \(part.path) and \(twin.path), have different bytes at the same place"
                }
            }
            return nil
        } catch { return "can't read it: \(error)" }
    }

    /// Whether the bytes of two parts with one range are equal.
    private func areEqual(_ a: ForeignResource.Part, _ b: ForeignResource.Part) throws(SystemError) -> Bool {
        let system = POSIXFileSystem()
        let first = try system.open(directory + "/" + a.path, .read)
        let second = try system.open(directory + "/" + b.path, .read)
        var done: Int64 = 0
        while done < a.range.count {
            let count = Int(min(Self.comparedBytes, a.range.count.subtractingSaturated(done)))
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
