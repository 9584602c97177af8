import Spool
import SpoolCore
import SpoolManifests
import SpoolServer
import SpoolSystem

/// The memory of a proxy about manifests: which resources are manifests, how long they serve, and
/// which variables their children import. All loops of the proxy share it, because the manifests of
/// a presentation and its segments come over several connections. Safe to use from any thread.
final class ManifestDoor: Sendable {
    /// The most resources about which something is remembered.
    private static let noteCapacity = 4_096
    /// The pause between two refetches of a manifest whose children fail.
    private static let refetchPause: Nanoseconds = .seconds(30)

    /// The memory about one resource.
    struct Note {
        var isManifest = false
        var lifetime = ManifestLifetime.byHTTP
        /// The arrival of the version that was read last.
        var heldSince: Timestamp?
        /// Whether the origin has to be asked before the next use, because children failed.
        var mustAsk = false
        /// The last time at which children failed.
        var failedAt: Timestamp?
    }

    let rules: ProxyTargetRules
    let prefix: String
    let reader = ManifestReader()
    let wallNow: @Sendable () -> Timestamp
    /// The cache, which has the parts of presentations.
    let cache: MediaCache
    private let names: Pseudonyms
    /// The choice of answers that are paced, or nil when none is.
    let pacing: StreamPacing?
    private let memory = Locked(Memory())

    private struct Memory {
        var memo = ManifestMemo()
        /// The resources at the edge of live playlists.
        var edges = LiveEdges()
        var notes: [ResourceKey: Note] = [:]
        /// The variables of the multivariant playlist that named a playlist, by the playlist's URL.
        var variables: [String: [String: String]] = [:]
        /// The manifests that were redirected to a URL.
        var redirected: [String: ResourceKey] = [:]

        /// Changes the note on a resource. When there are too many, all others are dropped: a note
        /// that is missing costs one question to the origin.
        mutating func update<R>(_ key: ResourceKey, _ change: (inout Note) -> R) -> R {
            var note = notes[key] ?? Note()
            defer {
                if notes[key] == nil, notes.count >= ManifestDoor.noteCapacity { notes.removeAll(keepingCapacity: true) }
                notes[key] = note
            }
            return change(&note)
        }

        /// Keeps the variables of a multivariant playlist for the playlists that it names.
        mutating func keepVariables(of contents: ManifestContents) {
            guard !contents.variables.isEmpty else { return }
            for reference in contents.references where reference.role == .playlist {
                guard let url = reference.url, variables[url] != contents.variables else { continue }
                if variables.count >= ManifestDoor.noteCapacity { variables.removeAll(keepingCapacity: true) }
                variables[url] = contents.variables
            }
        }
    }

    init(cache: MediaCache, rules: ProxyTargetRules, prefix: String, names: Pseudonyms, wallNow: @escaping @Sendable () -> Timestamp) {
        self.cache = cache
        pacing = cache.configuration.fetching.pacesStreams ? StreamPacing(cache: cache, wallNow: wallNow) : nil
        self.rules = rules
        self.prefix = prefix
        self.names = names
        self.wallNow = wallNow
    }

    /// Returns the proof for an origin, which the paths of its resources contain with a fixed
    /// origin.
    func proof(_ origin: URIReference.Origin) -> String { names.proof(for: origin.description) }

    /// Returns the cookies of an origin for the client of a request, so that they go back with the
    /// children of a manifest.
    func cookies(_ values: [String], from url: MediaURL, for request: RequestHead) -> [String] {
        let home = home(of: url.text, path: request.path)
        return ProxiedCookie.values(values, from: url, for: request) { rules.childPath(of: $0, prefix: prefix, home: home, proof: proof) }
    }

    // MARK: Notes

    func note(_ key: ResourceKey) -> Note { memory.withLock { $0.notes[key] } ?? Note() }

    /// Changes the note on a resource.
    @discardableResult
    func update(_ key: ResourceKey, _ change: (inout Note) -> Void) -> Note {
        memory.withLock { memory in
            memory.update(key) { note in
                change(&note)
                return note
            }
        }
    }

    /// Returns the place of a resource at the edge of a live playlist, or nil.
    func edge(of url: String) -> LiveEdges.Edge? { memory.withLock { $0.edges.edge(of: url) } }

    /// Handles the failure of a resource. A signature in the manifest that names it may have
    /// expired, so the origin is asked for that manifest at its next use.
    func childFailed(_ url: String, status: Int) {
        guard [401, 403, 404, 410].contains(status) else { return }
        let now = wallNow()
        memory.withLock { memory in
            for parent in memory.memo.parents(of: url).map(\.key) + [memory.redirected[url]].compactMap({ $0 }) {
                memory.update(parent) { note in
                    let pause = note.failedAt.map { now.nanoseconds.subtractingSaturated($0.nanoseconds) }
                    guard pause.map({ $0 >= Self.refetchPause }) ?? true else { return }
                    (note.failedAt, note.mustAsk) = (now, true)
                }
            }
        }
    }

    /// Notes that the origin redirects a manifest to `url`.
    func redirected(_ key: ResourceKey, to url: String) {
        memory.withLock { memory in
            if memory.redirected.count >= Self.noteCapacity { memory.redirected.removeAll(keepingCapacity: true) }
            memory.redirected[url] = key
        }
    }

    // MARK: Rewriting

    /// Returns the cause of a rewritten manifest for a request.
    func cause(_ key: ResourceKey, url: String, generation: GenerationID, request: RequestHead) -> ManifestMemo.Cause {
        let home = home(of: url, path: request.path)
        let own = rules.childPath(of: url, prefix: prefix, home: home, proof: proof)
        return ManifestMemo.Cause(
            key: key, url: url, generation: generation, isPathForm: own == request.path, home: home,
            authority: request.authority ?? "localhost", variables: memory.withLock { $0.variables[url] } ?? [:])
    }

    /// Returns the origin of a manifest, if the client asked for the manifest itself, and not for a
    /// child of another origin's manifest.
    func home(of url: String, path: String) -> URIReference.Origin? {
        guard !rules.isForeign(path: path, prefix: prefix), let url = try? MediaURL(url) else { return nil }
        return url.origin
    }

    /// Returns the manifest that was rewritten before for the same cause.
    func known(_ cause: ManifestMemo.Cause) -> ManifestMemo.Entry? {
        memory.withLock { memory in
            guard let entry = memory.memo.entry(for: cause) else { return nil }
            memory.keepVariables(of: entry.contents)
            return entry
        }
    }

    /// Rewrites a manifest.
    ///
    /// - Returns: Nil when the bytes are no manifest, or one that is passed on as it is.
    func rewrite(_ bytes: [UInt8], _ cause: ManifestMemo.Cause) -> ManifestMemo.Entry? {
        let contents: ManifestContents?
        do { contents = try reader.contents(of: bytes, at: cause.url, variables: cause.variables) } catch { return nil }
        guard let contents else { return nil }
        pacing?.note(bytes, of: cause)
        let entry = entry(bytes, contents, cause)
        memory.withLock { memory in
            memory.keepVariables(of: contents)
            memory.edges.update(cause.url, contents)
            memory.memo.insert(entry)
        }
        return entry
    }

    /// Returns a manifest that offers only the renditions that play without the network, or nil
    /// when it is no manifest or nothing would change.
    func reduce(_ inventory: PresentationInventory, _ cause: ManifestMemo.Cause) -> ManifestMemo.Entry? {
        let playable = inventory.playable
        guard !playable.isEmpty, playable.count < inventory.outline.renditions.count else { return nil }
        guard var contents = try? reader.contents(of: inventory.bytes, at: cause.url, variables: cause.variables) else { return nil }
        contents.offer(playable, of: inventory.outline)
        var entry = entry(inventory.bytes, contents, cause)
        entry.isReduced = true
        return entry
    }

    private func entry(_ bytes: [UInt8], _ contents: ManifestContents, _ cause: ManifestMemo.Cause) -> ManifestMemo.Entry {
        let address = ManifestAddress(
            rules: rules, prefix: prefix, isPathForm: cause.isPathForm, home: cause.home, authority: cause.authority, proof: proof)
        let body = reader.rewritten(bytes, contents, verbatim: address.change, replacement: address.replacement)
        let check = body.withUnsafeBytes { CRC32C.of($0) }
        let tag = "\"spool-\(String(cause.generation.rawValue, radix: 36))-\(String(check, radix: 36))-\(body.count)\""
        return ManifestMemo.Entry(cause: cause, body: body, tag: tag, contents: contents)
    }
}
