import Spool
import SpoolAdoption
import SpoolCore
import SpoolSystem

extension AdminAPI {
    /// The most entries of a report in an answer. Entries beyond it are counted too.
    private static let adoptedEntryLimit = 10_000

    /// Begins the job that takes over the store of another cache.
    static func adopt(_ query: Query, _ cache: MediaCache, _ jobs: AdminJobs, _ answer: @escaping @Sendable (Answer) -> Void) {
        guard let path = query["path"], path.hasPrefix("/"), query["map"]?.hasPrefix("/") != false else {
            return answer(.failed(status: 400, "path= is missing, or a path is not absolute"))
        }
        var options = AdoptionOptions()
        options.mappingFile = query["map"]
        options.trustsParts = query["trust"] == "1"
        options.replacesStored = query["replace"] == "1"
        options.isDryRun = query["dry"] == "1"
        let cancellation = TransferCancellation()
        guard let id = jobs.begin(cancel: { cancellation.cancel() }) else { return answer(.tooManyJobs) }
        let done = Locked<Int64>(0)
        let report: @Sendable (AdoptionProgress) -> Void = { progress in
            let moved = done.withLock { done in
                defer { done = max(done, progress.doneBytes) }
                return max(0, progress.doneBytes - done)
            }
            jobs.moved(moved, of: id)
        }
        Adoption(cache, path, options, cancellation, report) { result in
            jobs.end(
                id,
                result.map { [("entries", .integer(Int64($0.entries.count))), ("report", .string($0.lines(limit: adoptedEntryLimit)))] })
        }.start()
        answer(.object([("job", .integer(id))]))
    }
}
