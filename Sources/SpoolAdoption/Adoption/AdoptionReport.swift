import SpoolCore

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

// MARK: Between processes

extension AdoptionReport {
    /// The report as lines with tabs, for the command that asked a running server.
    ///
    /// - Parameter limit: The most entries.
    package func lines(limit: Int) -> String {
        ([format.rawValue] + entries.prefix(limit).map(\.line)).joined(separator: "\n")
    }

    /// Reads a report from its lines, or returns nil if they are none.
    package init?(lines: String) {
        let lines = lines.split(separator: "\n" as Character, omittingEmptySubsequences: false)
        guard let first = lines.first, let format = Format(rawValue: String(first)) else { return nil }
        self.format = format
        for line in lines.dropFirst() {
            guard let entry = Entry(line: line) else { return nil }
            entries.append(entry)
        }
    }
}

extension AdoptionReport.Entry {
    fileprivate var line: String {
        let (verb, bytes, length, reason) =
            switch outcome {
            case .taken(let bytes, let length): ("taken", bytes, length, "")
            case .leftOut(let reason): ("left", Int64(0), Int64(0), reason)
            case .failed(let reason): ("failed", Int64(0), Int64(0), reason)
            }
        return [verb, String(bytes), String(length), name, url ?? "", reason].map(\.withoutBreaks).joined(separator: "\t")
    }

    fileprivate init?(line: Substring) {
        let fields = line.split(separator: "\t" as Character, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 6, let bytes = Int64(fields[1]), let length = Int64(fields[2]) else { return nil }
        name = fields[3]
        url = fields[4].isEmpty ? nil : fields[4]
        switch fields[0] {
        case "taken": outcome = .taken(bytes: bytes, length: length)
        case "left": outcome = .leftOut(fields[5])
        case "failed": outcome = .failed(fields[5])
        default: return nil
        }
    }
}

extension String {
    /// The text with spaces in place of control characters.
    fileprivate var withoutBreaks: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
    }
}
