import Spool
import SpoolCore

// Commands that take a while: begun by one request, followed by others.

extension RunningServer {
    /// Makes a file the whole of what is stored of a resource; its size in bytes. `onBegin` gets what stops it.
    func importFile(
        _ path: String, for url: String, key: ResourceKey, options: ImportOptions, progress: (Int64) -> Void,
        onBegin: (@escaping @Sendable () -> Void) -> Void
    ) throws -> Int64 {
        var words = ["path": path, "url": url, "key": key.string]
        words["type"] = options.contentType
        words["etag"] = options.validator.entityTag
        if options.replacesStored { words["replace"] = "1" }
        let job = try begin("import", words)
        // A second connection: the first waits for the job. What goes wrong there the first one tells.
        onBegin { do { _ = try post("cancel?id=\(job)") } catch { return } }
        let end = try follow(job, progress)
        guard let bytes = end.number("bytes") else { throw incomprehensible }
        return bytes
    }

    /// Reads what is stored of a resource and takes damage out; nil when nothing is stored of it.
    func repair(_ key: ResourceKey, progress: (Int64) -> Void) throws -> Verification? {
        let end = try follow(begin("repair", ["key": key.string]), progress)
        guard let stored = end.number("stored") else { throw incomprehensible }
        guard stored != 0 else { return nil }
        guard let sound = end.number("sound"), let unchecked = end.number("unchecked"), let damaged = end.member("damaged") else {
            throw incomprehensible
        }
        var found = Verification(key: key, url: key.string)
        found.soundBytes = sound
        found.uncheckedBytes = unchecked
        found.isRepaired = end.number("repaired") == 1
        found.damaged = ByteRangeSet(damaged.split(separator: " ").compactMap(ByteRange.init(dashed:)))
        return found
    }

    private func begin(_ verb: String, _ words: [String: String]) throws -> Int64 {
        let query = words.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.percentEncodedForQuery)" }.joined(separator: "&")
        guard let job = try post("\(verb)?\(query)").number("job") else { throw incomprehensible }
        return job
    }

    /// Waits for the end of a job; what is told of it.
    private func follow(_ job: Int64, _ progress: (Int64) -> Void) throws -> String {
        var done: Int64 = 0
        while true {
            let answer = try post("job?id=\(job)&after=\(done)")
            guard let bytes = answer.number("done"), let running = answer.number("running") else { throw incomprehensible }
            progress(bytes - done)
            done = bytes
            if running == 0 { return answer }
        }
    }
}

extension Validator {
    /// The entity tag, if that is what identifies the version.
    fileprivate var entityTag: String? {
        switch self {
        case .strong(let tag), .weak(let tag): tag
        case .lastModified, .none: nil
        }
    }
}

extension ByteRange {
    /// From `lower-upper`, the upper one not included.
    fileprivate init?(dashed text: Substring) {
        let parts = text.split(separator: "-" as Character)
        guard parts.count == 2, let lower = Int64(parts[0]), let upper = Int64(parts[1]) else { return nil }
        self.init(lower, upper)
    }
}
