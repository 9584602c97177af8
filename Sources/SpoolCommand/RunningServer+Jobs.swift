import Spool
import SpoolAdoption
import SpoolCore
import SpoolJSON

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
        return try run("import", words, progress, onBegin).required("bytes", \.integer, of: self)
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
        let end = try run("adopt", words, progress, onBegin)
        guard let report = (end["report"]?.string).flatMap(AdoptionReport.init(lines:)) else { throw incomprehensible }
        return (report, Int(clamping: try end.required("entries", \.integer, of: self)))
    }

    /// Verifies the stored bytes of a resource and removes the damaged ones.
    ///
    /// - Returns: The result, or nil when no byte of the resource is stored.
    func repair(_ key: ResourceKey, progress: (Int64) -> Void) throws -> Verification? {
        let end = try run("verify", ["key": key.string], progress) { _ in }
        guard try end.required("stored", \.integer, of: self) != 0 else { return nil }
        var found = Verification(key: key, url: key.string)
        found.soundBytes = try end.required("sound", \.integer, of: self)
        found.uncheckedBytes = try end.required("unchecked", \.integer, of: self)
        found.isRepaired = end["repaired"]?.integer == 1
        let damaged = try end.required("damaged", \.string, of: self)
        found.damaged = ByteRangeSet(damaged.split(separator: " ").compactMap(ByteRange.init(dashed:)))
        return found
    }

    /// Begins a job, waits for its end, and returns the last answer.
    private func run(
        _ verb: String, _ words: [String: String], _ progress: (Int64) -> Void, _ onBegin: (@escaping @Sendable () -> Void) -> Void
    ) throws -> JSON {
        let job = try post(verb, words).required("job", \.integer, of: self)
        // Sent on a second connection, because the first one waits for the job. The first one
        // reports errors.
        onBegin { do { _ = try post("cancel", ["id": "\(job)"]) } catch { return } }
        var done: Int64 = 0
        while true {
            let answer = try post("job", ["id": "\(job)", "after": "\(done)"])
            let bytes = try answer.required("done", \.integer, of: self)
            progress(bytes.subtractingSaturated(done))
            done = bytes
            if try answer.required("running", \.integer, of: self) == 0 { return answer }
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
