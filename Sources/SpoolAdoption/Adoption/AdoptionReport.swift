import SpoolCore
package import SpoolJSON

/// The way in which the store of another cache is taken over.
public struct AdoptionOptions: Sendable {
    /// The path of the mapping file. Nil means the file `spool-adopt.tsv` in the directory, if
    /// there is one.
    public var mappingFile: String?
    /// Whether partly stored resources are taken whose version the other cache does not name.
    ///
    /// The cache then asks the origin for its version, and takes the bytes as a part of that
    /// version if it has the same length. Bytes of an older version of the same length become wrong
    /// bytes. The default is false: such resources are left out.
    public var trustsParts = false
    /// Whether adopted resources replace stored ones. If false, the default, the stored bytes stay.
    public var replacesStored = false
    /// Whether the cache only reports what it would take, and stores nothing.
    public var isDryRun = false

    /// Creates the default options.
    public init() {}
}

/// The result of an adoption: the resources that were taken, and those that were not.
///
/// ```swift
/// let report = try await cache.adopt(documents + "/KTVHTTPCache")
/// print(report.takenCount, "taken", report.failedCount, "failed")
/// ```
///
/// A resource of which every byte is stored plays without its origin. A resource of which only
/// parts are stored is taken if the other cache has its strong validator. Other parts are left out,
/// because nothing ties them to a version; see `AdoptionOptions.trustsParts`.
///
/// All of the index is read before the first byte is stored. Symbolic links are not followed.
public struct AdoptionReport: Hashable, Sendable {
    /// The kind of the store.
    public enum Format: String, Sendable {
        /// A store of KTVHTTPCache.
        case ktvHTTPCache = "KTVHTTPCache"
        /// A store of VIMediaCache.
        case viMediaCache = "VIMediaCache"
        /// A store of GSPlayer.
        case gsPlayer = "GSPlayer"
        /// Files that a mapping file names, as for CachingPlayerItem, which has no index.
        case files
    }

    /// One resource of the store.
    public struct Entry: Hashable, Sendable {
        /// The outcome for one resource.
        public enum Outcome: Hashable, Sendable {
            /// The stored bytes were taken, or would be in a dry run. `length` is the length of the
            /// resource in bytes.
            case taken(bytes: Int64, length: Int64)
            /// The resource was left out, for this reason.
            case leftOut(String)
            /// The resource was left out, because its index or its files are damaged, or because
            /// storing it failed.
            case failed(String)
        }

        /// The entry in the index, or the path of the file below the directory.
        public var name: String
        /// The URL, if it is known.
        public var url: String?
        /// The outcome for the resource.
        public var outcome: Outcome
    }

    /// The kind of the store.
    public var format: Format
    /// The resources, in the order of the store.
    public var entries: [Entry] = []
    /// The number of entries that a server has left out of its answer.
    package var omittedCount: Int64 = 0

    /// The number of resources that were taken.
    public var takenCount: Int { entries.reduce(0) { if case .taken = $1.outcome { $0 + 1 } else { $0 } } }
    /// The number of bytes that were taken.
    public var takenBytes: Int64 {
        entries.reduce(0) { if case .taken(let bytes, _) = $1.outcome { $0.addingSaturated(bytes) } else { $0 } }
    }
    /// The number of resources that were damaged, or that could not be stored.
    public var failedCount: Int { entries.reduce(0) { if case .failed = $1.outcome { $0 + 1 } else { $0 } } }
}

/// How far an adoption has come.
public struct AdoptionProgress: Hashable, Sendable {
    /// The number of bytes that were copied.
    public var doneBytes: Int64
    /// The number of bytes of all resources that may be taken.
    public var totalBytes: Int64
}

// MARK: JSON

extension AdoptionReport {
    /// The report as members of a JSON object, for programs and for the command that asked a server.
    ///
    /// - Parameter limitBytes: The most bytes of the entries. Entries beyond it are only counted.
    package func members(limitBytes: Int = .max) -> [(String, JSON)] {
        var listed: [JSON] = [], room = limitBytes
        for entry in entries.lazy.map(\.json) {
            room -= entry.text.utf8.count
            guard room >= 0 else { break }
            listed.append(entry)
        }
        return [
            ("format", .string(format.rawValue)), ("taken", .integer(Int64(takenCount))), ("bytes", .integer(takenBytes)),
            ("failed", .integer(Int64(failedCount))), ("count", .integer(Int64(entries.count).addingSaturated(omittedCount))),
            ("entries", .array(listed)),
        ]
    }

    /// Reads a report, or returns nil for an answer of another version.
    package init?(_ json: JSON) {
        guard let format = (json["format"]?.string).flatMap(Format.init(rawValue:)), let count = json["count"]?.integer,
            let listed = json["entries"]?.elements
        else { return nil }
        self.format = format
        entries = listed.compactMap(Entry.init)
        guard entries.count == listed.count else { return nil }
        omittedCount = max(0, count.subtractingSaturated(Int64(entries.count)))
    }
}

extension AdoptionReport.Entry {
    fileprivate var json: JSON {
        let members: [(String, JSON)] =
            switch outcome {
            case .taken(let bytes, let length): [("outcome", .string("taken")), ("bytes", .integer(bytes)), ("length", .integer(length))]
            case .leftOut(let reason): [("outcome", .string("left")), ("reason", .string(reason))]
            case .failed(let reason): [("outcome", .string("failed")), ("reason", .string(reason))]
            }
        return .object([("name", .string(name)), ("url", JSON(url))] + members)
    }

    fileprivate init?(_ json: JSON) {
        guard let name = json["name"]?.string else { return nil }
        (self.name, url) = (name, json["url"]?.string)
        switch (json["outcome"]?.string, json["bytes"]?.integer, json["length"]?.integer, json["reason"]?.string) {
        case ("taken", let bytes?, let length?, nil): outcome = .taken(bytes: bytes, length: length)
        case ("left", nil, nil, let reason?): outcome = .leftOut(reason)
        case ("failed", nil, nil, let reason?): outcome = .failed(reason)
        default: return nil
        }
    }
}
