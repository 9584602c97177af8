import Spool
import SpoolAdoption
import SpoolCore
import SpoolJSON

// The commands that take time, and those on the jobs that they begin.

extension ControlVerb {
    static let transfers: [String: ControlVerb] = [
        "verify": ControlVerb(onKey: [.program, .page]) { control, key, _, done in control.verify(key, done) },
        "fetch": ControlVerb([.page], ["key", "url"]) { $0.preload("fetch", .whole, $1, $2) },
        "preload": ControlVerb([.page], ["key", "url"]) { $0.preload("preload", .seconds(preloadedSeconds), $1, $2) },
        "import": ControlVerb([.program], ["path", "url", "key", "type", "etag", "replace"]) { $0.importFile($1, $2) },
        "adopt": ControlVerb([.program], ["path", "map", "trust", "replace", "dry"]) { $0.adopt($1, $2) },
        "job": ControlVerb([.program], ["id", "after"]) { control, query, done in
            guard let id = query.number("id") else { return done(noID) }
            control.jobs.wait(for: id, beyond: query.number("after") ?? 0, done)
        },
        "pause": ControlVerb([.page], ["id"]) {
            $0.change($1, $2) { (jobs, id) throws(ControlRefusal) in try jobs.setPaused(true, id) }
        },
        "resume": ControlVerb([.page], ["id"]) {
            $0.change($1, $2) { (jobs, id) throws(ControlRefusal) in try jobs.setPaused(false, id) }
        },
        "cancel": ControlVerb([.program, .page], ["id"]) {
            $0.change($1, $2) { (jobs, id) throws(ControlRefusal) in try jobs.cancel(id) }
        },
    ]

    fileprivate static let noID = ControlAnswer.refused(.invalidQuery, "id= is missing")
    /// How many seconds of media the command `preload` fetches.
    private static let preloadedSeconds: Double = 30
}

extension Control {
    /// The most bytes of a report's entries in an answer. Entries beyond it are counted too. Clients
    /// read answers of up to 1 MiB.
    private static let adoptedEntryBytes = 512 << 10

    /// Begins a job, and answers with its number.
    private func begin(_ verb: String, _ key: ResourceKey?, _ done: @escaping ControlVerb.Done, _ start: (_ id: Int64) -> Void) {
        do throws(ControlRefusal) {
            let id = try jobs.begin(verb, key)
            start(id)
            done(.object([("job", .integer(id))]))
        } catch {
            done(ControlAnswer(error))
        }
    }

    /// Begins a job that a task does. The task is cancelled when the job is to stop.
    private func begin(
        _ verb: String, _ key: ResourceKey?, _ done: @escaping ControlVerb.Done,
        task: @escaping @Sendable (_ id: Int64) async throws(CacheError) -> ControlJobs.Outcome
    ) {
        begin(verb, key, done) { [jobs] id in
            let task = LaneTasks.begin {
                do throws(CacheError) { jobs.end(id, .success(try await task(id))) } catch { jobs.end(id, .failure(error)) }
            }
            jobs.follow(id) { task.cancel() }
        }
    }

    fileprivate func change(
        _ query: Query, _ done: @escaping ControlVerb.Done, _ body: (ControlJobs, Int64) throws(ControlRefusal) -> Void
    ) {
        guard let id = query.number("id") else { return done(ControlVerb.noID) }
        do throws(ControlRefusal) {
            try body(jobs, id)
            done(.object([]))
        } catch {
            done(ControlAnswer(error))
        }
    }

    /// Compares the stored bytes with their checks. Damaged ones become gaps.
    fileprivate func verify(_ key: ResourceKey, _ done: @escaping ControlVerb.Done) {
        begin("verify", key, done) { [cache, jobs] id in
            cache.verify(key, isRepairing: true, progress: { jobs.moved($0, id) }) { result in
                jobs.end(id, result.map { $0?.outcome ?? .init(text: "nothing of it is stored", members: [("stored", .bool(false))]) })
            }
        }
    }

    /// Begins a preload of a known resource, or of a URL.
    fileprivate func preload(_ verb: String, _ amount: PreloadAmount, _ query: Query, _ done: @escaping ControlVerb.Done) {
        if let url = query["url"] { return preload(verb, amount, url, key: nil, done) }
        guard let key = query.key else { return done(.refused(.invalidQuery, "key= or url= is missing")) }
        cache.status(of: key) { result in
            switch result {
            case .success(let status?): self.preload(verb, amount, status.url, key: key, done)
            case .success(nil): done(.refused(.notStored, "nothing of it is stored"))
            case .failure(let error): done(ControlAnswer(error))
            }
        }
    }

    private func preload(_ verb: String, _ amount: PreloadAmount, _ url: String, key: ResourceKey?, _ done: @escaping ControlVerb.Done) {
        guard serves(url) else { return done(.refused(.notServed, "this proxy does not serve \(url)")) }
        do throws(CacheError) {
            let name = if let key { key } else { try cache.key(for: url) }
            begin(verb, name, done) { id in
                do throws(CacheError) {
                    let preload = try cache.preload(url, amount, key: key)
                    jobs.follow(id, preload) { [weak preload] in preload?.cancel() }
                    preload.whenOver { [jobs] in jobs.end(id, $0.map(\.outcome)) }
                } catch {
                    jobs.end(id, .failure(error))
                }
            }
        } catch {
            done(ControlAnswer(error))
        }
    }

    fileprivate func importFile(_ query: Query, _ done: @escaping ControlVerb.Done) {
        guard let path = query["path"], path.hasPrefix("/"), let url = query["url"] else {
            return done(.refused(.invalidQuery, "path= or url= is missing"))
        }
        var options = ImportOptions()
        options.contentType = query["type"]
        if let tag = query["etag"] { options.validator = tag.hasPrefix("W/") ? .weak(entityTag: tag) : .strong(entityTag: tag) }
        options.replacesStored = query["replace"] == "1"
        begin("import", query.key, done) { [cache, jobs, options, key = query.key] id throws(CacheError) in
            let file = try await cache.importFile(path, for: url, key: key, options: options) { jobs.moved($0, id) }
            return .init(text: "imported", members: [("bytes", .integer(file.bytes))])
        }
    }

    /// Begins the job that takes over the store of another cache.
    fileprivate func adopt(_ query: Query, _ done: @escaping ControlVerb.Done) {
        guard let path = query["path"], path.hasPrefix("/"), query["map"]?.hasPrefix("/") != false else {
            return done(.refused(.invalidQuery, "path= is missing, or a path is not absolute"))
        }
        var options = AdoptionOptions()
        options.mappingFile = query["map"]
        options.trustsParts = query["trust"] == "1"
        options.replacesStored = query["replace"] == "1"
        options.isDryRun = query["dry"] == "1"
        begin("adopt", nil, done) { [cache, jobs, options] id throws(CacheError) in
            let report = try await cache.adopt(path, options: options) { jobs.reached($0.doneBytes, id) }
            return .init(text: "adopted", members: report.members(limitBytes: Self.adoptedEntryBytes))
        }
    }
}

extension PreloadResult {
    fileprivate var outcome: ControlJobs.Outcome {
        let text =
            fetchedBytes == 0
            ? "all of it was stored already" : "done: \(fetchedBytes) bytes fetched, \(storedBytes) were stored before"
        return .init(text: text, members: [])
    }
}

extension Verification {
    /// The largest number of damaged ranges listed in an answer. Ranges beyond it are repaired and
    /// counted too.
    private static let rangeLimit = 10_000

    fileprivate var outcome: ControlJobs.Outcome {
        let text =
            damaged.isEmpty
            ? "all \(soundBytes) checked bytes are sound"
            : "\(damaged.totalBytes) bytes were damaged and are no longer stored; they are fetched again when they are needed"
        return .init(text: text, members: [("stored", .bool(true))] + members(ranges: Self.rangeLimit))
    }
}
