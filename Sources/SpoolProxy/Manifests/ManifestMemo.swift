import SpoolCore
import SpoolManifests
import SpoolSystem

/// The manifests that were rewritten last, so that an unchanged one is not read again.
struct ManifestMemo {
    /// The most manifests that stay.
    static let capacity = 64
    /// The most memory of rewritten manifests that stays, in bytes, as far as `heldBytes` knows it.
    static let capacityBytes = 32 << 20

    /// Everything that a rewritten manifest depends on.
    struct Cause: Hashable {
        var key: ResourceKey
        var url: String
        var generation: GenerationID
        var isPathForm: Bool
        /// The origin whose resources get the client's credentials.
        var home: URIReference.Origin?
        /// The scheme and authority of the proxy for the client, which absolute references have.
        var place: String
        var variables: [String: String]
    }

    /// A rewritten manifest.
    struct Entry {
        var cause: Cause
        var body: [UInt8]
        /// The entity tag of the body, with its quotes.
        var tag: String
        var kind: ManifestKind
        /// The rules for storing the manifest.
        var lifetime: ManifestLifetime
        /// The number of the first segment of a media playlist.
        var mediaSequence: Int64?
        /// The variables that manifests below this one can import.
        var variables: [String: String]
        var children: ManifestChildren
        /// The manifests that import the variables, if there are any.
        var playlists: [String]
        /// Whether a client needs the manifest by the path form: its relative references stayed, or
        /// it makes players read the query of its URL or add to it.
        var needsPathForm: Bool
        /// Whether renditions were left out because the network is away. Such a manifest is for one
        /// answer.
        var isReduced = false
        /// The memory of the entry, which counts until it leaves the memo and its answers are sent.
        var claim: ManifestRoom.Claim?
        /// The number of the work that made the entry. Later work has a higher number.
        var work = 0

        /// Whether the manifest is of a live presentation.
        var isLive: Bool {
            if case .byHTTP = lifetime { false } else { true }
        }

        /// The memory of the entry, about, in bytes.
        var heldBytes: Int {
            let ofVariables = variables.heldBytes + cause.variables.heldBytes + playlists.reduce(0) { $0 + $1.utf8.count }
            return body.count + children.heldBytes + ofVariables + 2 * cause.url.utf8.count
        }
    }

    /// The result of reading and rewriting a manifest.
    enum Result {
        case rewritten(Entry)
        /// The bytes are no manifest, or one that a player must not use. They are passed on.
        case unchanged
        /// The document is beyond a limit of `ManifestLimits`. It is passed on, unless it
        /// `mayLeadAway` from a proxy that stands in for its origin.
        case beyondLimit(String, mayLeadAway: Bool)
        /// It is not certain which bytes the rewritten manifest has.
        case failed(CacheError)
    }

    private var entries: [Entry] = [] {
        didSet { liveCount.value = Int64(entries.indices.count { entries[$0].isLive }) }
    }
    /// The number of manifests of live presentations. Each hit reads it, without a lock.
    private let liveCount: SharedNumber
    private var lastWork = 0
    /// The results of large documents without an entry.
    private var others = BoundedTable<Cause, Result>(capacity: 256, bytes: 256 << 10) { cause, _ in
        2 * cause.url.utf8.count + cause.variables.heldBytes
    }

    /// Creates a memory without manifests, which keeps `liveCount` up to date.
    init(_ liveCount: SharedNumber = SharedNumber(0)) { self.liveCount = liveCount }

    /// Returns the result for a cause, and marks its entry as used.
    mutating func result(for cause: Cause) -> Result? {
        guard let index = entries.indices.last(where: { entries[$0].cause == cause }) else { return others[cause] }
        if index < entries.count - 1 { entries.append(entries.remove(at: index)) }
        return entries.last.map { .rewritten($0) }
    }

    /// Returns the number of work that begins now.
    mutating func beginWork() -> Int {
        lastWork += 1
        return lastWork
    }

    /// Keeps the result of a large document that has no entry.
    mutating func keep(_ result: Result, for cause: Cause) {
        if case .rewritten = result { return }
        others[cause] = result
    }

    /// Adds an entry. It replaces older versions of its manifest.
    ///
    /// - Returns: False for an entry whose work began before that of one here, and ended late.
    mutating func insert(_ entry: Entry) -> Bool {
        // By indices: a copy of an entry would count its owners, and there are many entries.
        let same = entries.indices.filter { entries[$0].cause.key == entry.cause.key }
        guard !same.contains(where: { entries[$0].work > entry.work }) else { return false }
        for index in same.reversed() where entries[index].cause.generation != entry.cause.generation { entries.remove(at: index) }
        entries.append(entry)
        var bytes = entries.indices.reduce(0) { $0 + entries[$1].heldBytes }
        while entries.count > 1, entries.count > Self.capacity || bytes > Self.capacityBytes {
            bytes -= entries.removeFirst().heldBytes
        }
        return true
    }

    /// Returns the manifests that name a URL, the latest first.
    ///
    /// - Complexity: One look-up for each of the manifests.
    func parents(of url: URLHash) -> [ResourceKey] {
        entries.indices.reversed().filter { entries[$0].children.contains(url) }.map { entries[$0].cause.key }
    }

    /// Returns the latest media playlist or MPD that names a URL.
    ///
    /// - Complexity: One look-up for each of the manifests.
    func presentation(of url: URLHash) -> Entry? {
        entries.last { $0.kind != .hlsMultivariant && $0.children.contains(url) }
    }
}

extension [String: String] {
    /// The bytes of all keys and values.
    var heldBytes: Int { reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } }
}
