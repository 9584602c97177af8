import Spool
import SpoolAdoption
import SpoolCore

// Long-running commands: one request begins a job, and further requests follow it.

extension RunningServer {
    /// Imports a file as the complete resource.
    ///
    /// - Parameter onBegin: Called with a closure that stops the import.
    /// - Returns: The size of the file in bytes.
    func importFile(
        _ path: String, for url: String, key: ResourceKey, options: ImportOptions, progress: (Int64) -> Void,
        onBegin: (@escaping @Sendable () -> Void) -> Void
    ) throws -> Int64 {
        var words = ["path": path, "url": url, "key": key.string]
        words["type"] = options.contentType
        words["etag"] = options.validator.entityTag
        if options.replacesStored { words["replace"] = "1" }
        let job = try begin("import", words)
        // Sent on a second connection, because the first one waits for the job. The first one
        // reports errors.
        onBegin { do { _ = try post("cancel?id=\(job)") } catch { return } }
        let end = try follow(job, progress)
        guard let bytes = end["bytes"]?.integer else { throw incomprehensible }
        return bytes
    }

    /// Takes over the store of another cache.
    ///
    /// - Parameter onBegin: Called with a closure that stops the adoption.
    /// - Returns: The report, and the number of all its entries, of which it may lack some.
    func adopt(
        _ directory: String, options: AdoptionOptions, progress: (Int64) -> Void, onBegin: (@escaping @Sendable () -> Void) -> Void
    ) throws -> (report: AdoptionReport, entries: Int) {
        var words = ["path": directory]
        words["map"] = options.mappingFile
        if options.trustsParts { words["trust"] = "1" }
        if options.replacesStored { words["replace"] = "1" }
        if options.isDryRun { words["dry"] = "1" }
        let job = try begin("adopt", words)
        // On a connection of its own, as above.
        onBegin { do { _ = try post("cancel?id=\(job)") } catch { return } }
        let end = try follow(job, progress)
        guard let entries = end["entries"]?.integer, let report = (end["report"]?.string).flatMap(AdoptionReport.init(lines:)) else {
            throw incomprehensible
        }
        return (report, Int(entries))
    }

    /// Verifies the stored bytes of a resource and removes the damaged ones.
    ///
    /// - Returns: The result, or nil when no byte of the resource is stored.
    func repair(_ key: ResourceKey, progress: (Int64) -> Void) throws -> Verification? {
        let end = try follow(begin("verify", ["key": key.string]), progress)
        guard let stored = end["stored"]?.integer else { throw incomprehensible }
        guard stored != 0 else { return nil }
        guard let sound = end["sound"]?.integer, let unchecked = end["unchecked"]?.integer, let damaged = end["damaged"]?.string else {
            throw incomprehensible
        }
        var found = Verification(key: key, url: key.string)
        found.soundBytes = sound
        found.uncheckedBytes = unchecked
        found.isRepaired = end["repaired"]?.integer == 1
        found.damaged = ByteRangeSet(damaged.split(separator: " ").compactMap(ByteRange.init(dashed:)))
        return found
    }

    private func begin(_ verb: String, _ words: [String: String]) throws -> Int64 {
        let query = words.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.percentEncoded)" }.joined(separator: "&")
        guard let job = try post("\(verb)?\(query)")["job"]?.integer else { throw incomprehensible }
        return job
    }

    /// Waits for the end of a job and returns the last answer.
    private func follow(_ job: Int64, _ progress: (Int64) -> Void) throws -> JSON {
        var done: Int64 = 0
        while true {
            let answer = try post("job?id=\(job)&after=\(done)")
            guard let bytes = answer["done"]?.integer, let running = answer["running"]?.integer else { throw incomprehensible }
            progress(bytes - done)
            done = bytes
            if running == 0 { return answer }
        }
    }
}

extension Validator {
    /// The entity tag, if the version has one.
    fileprivate var entityTag: String? {
        switch self {
        case .strong(let tag), .weak(let tag): tag
        case .lastModified, .none: nil
        }
    }
}

extension ByteRange {
    /// Parses `lower-upper`, where `upper` is not included.
    fileprivate init?(dashed text: Substring) {
        let parts = text.split(separator: "-" as Character)
        guard parts.count == 2, let lower = Int64(parts[0]), let upper = Int64(parts[1]) else { return nil }
        self.init(lower, upper)
    }
}
