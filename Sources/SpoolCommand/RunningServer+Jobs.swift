import Spool
import SpoolAdoption
import SpoolCore
import SpoolDashboard
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
        words["etag"] = options.validator.text
        if options.replacesStored { words["replace"] = "1" }
        return try run("import", words, progress, onBegin).required("bytes", \.integer, of: self)
    }

    /// Takes over the store of another cache.
    ///
    /// - Parameter onBegin: Called with a closure that stops the adoption.
    func adopt(
        _ directory: String, options: AdoptionOptions, progress: (Int64) -> Void, onBegin: (@escaping @Sendable () -> Void) -> Void
    ) throws -> AdoptionReport {
        var words = ["path": directory]
        words["map"] = options.mappingFile
        if options.trustsParts { words["trust"] = "1" }
        if options.replacesStored { words["replace"] = "1" }
        if options.isDryRun { words["dry"] = "1" }
        guard let report = AdoptionReport(try run("adopt", words, progress, onBegin)) else { throw incomprehensible }
        return report
    }

    /// Verifies the stored bytes of a resource and removes the damaged ones.
    ///
    /// - Returns: The result, or nil when no byte of the resource is stored.
    func repair(_ key: ResourceKey, progress: (Int64) -> Void) throws -> Verification? {
        let end = try run("verify", ["key": key.string], progress) { _ in }
        guard let isStored = end["stored"]?.isTrue else { throw incomprehensible }
        guard isStored else { return nil }
        guard let found = Verification(end) else { throw incomprehensible }
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
