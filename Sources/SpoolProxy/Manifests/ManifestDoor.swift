import Spool
import SpoolCore
import SpoolManifests
import SpoolOrigin
import SpoolServer
import SpoolSystem

/// The memory of a proxy about manifests: which resources are manifests, how long they serve, and
/// which variables their children import. All loops of the proxy share it, because the manifests of
/// a presentation and its segments come over several connections. Safe to use from any thread.
final class ManifestDoor: Sendable {
    /// The most resources about which something is remembered.
    private static let noteCapacity = 4_096
    /// The most reasons that are remembered as told.
    private static let toldCapacity = 256
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
    private let trust: ReferenceTrust
    private let memory = Locked(Memory())

    private struct Memory {
        var memo = ManifestMemo()
        /// The resources at the edge of live playlists.
        var edges = LiveEdges()
        var notes: [ResourceKey: Note] = [:]
        var variables = ImportedVariables()
        /// The reasons why references were left to the player, each of which was told once.
        var told: Set<String> = []
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
        mutating func keepVariables(of contents: ManifestContents, at parent: String) {
            guard !contents.variables.isEmpty else { return }
            for reference in contents.references where reference.role == .playlist {
                if let child = reference.url { variables.keep(contents.variables, of: parent, for: child) }
            }
        }
    }

    init(cache: MediaCache, rules: ProxyTargetRules, prefix: String, names: Pseudonyms, wallNow: @escaping @Sendable () -> Timestamp) {
        self.cache = cache
        self.rules = rules
        self.prefix = prefix
        self.names = names
        trust = ReferenceTrust(privateNames: cache.configuration.security.privateNames, reaches: [rules.reach])
        self.wallNow = wallNow
    }

    /// Returns the proof for the beginning of URLs of another origin than the fixed one.
    func proof(_ beginning: String) -> String { names.proof(for: beginning) }

    /// Returns the path at this proxy of a URL that a manifest names, or nil for a resource that the
    /// proxy does not serve.
    func path(of url: String, home: URIReference.Origin?) -> String? {
        guard let url = Self.parsed(url) else { return nil }
        return rules.childPath(of: url, prefix: prefix, home: home, proof: proof)
    }

    /// Returns the cookies of an origin for the client of a request, so that they go back with the
    /// children of a manifest.
    func cookies(_ values: [String], from url: MediaURL, for request: RequestHead) -> [String] {
        let home = home(of: url.text, path: request.path)
        return ProxiedCookie.values(values, from: url, for: request) { path(of: $0, home: home) }
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
        let isPathForm = Self.parsed(url).map { rules.isPathForm(request.path, of: $0, prefix: prefix, home: home, proof: proof) }
        return ManifestMemo.Cause(
            key: key, url: url, generation: generation, isPathForm: isPathForm ?? false, home: home,
            authority: request.authority ?? "localhost",
            variables: memory.withLock { $0.variables.values(of: url, isNamedElsewhere: home == nil) })
    }

    private static func parsed(_ url: String) -> MediaURL? {
        do { return try MediaURL(url) } catch { return nil }
    }

    /// Returns the origin of a manifest, if the client asked for the manifest itself, and not for a
    /// child of another origin's manifest.
    func home(of url: String, path: String) -> URIReference.Origin? {
        rules.isForeign(path: path, prefix: prefix) ? nil : Self.parsed(url)?.origin
    }

    /// Returns the manifest that was rewritten before for the same cause.
    func known(_ cause: ManifestMemo.Cause) -> ManifestMemo.Entry? {
        memory.withLock { memory in
            guard let entry = memory.memo.entry(for: cause) else { return nil }
            memory.keepVariables(of: entry.contents, at: cause.url)
            return entry
        }
    }

    /// Rewrites a manifest.
    ///
    /// - Returns: Nil when the bytes are no manifest, or one that is passed on as it is.
    /// - Throws: `.originMalformed` when it is not certain which bytes the rewritten manifest has.
    func rewrite(_ bytes: [UInt8], _ cause: ManifestMemo.Cause) throws(CacheError) -> ManifestMemo.Entry? {
        let contents: ManifestContents?
        do { contents = try reader.contents(of: bytes, at: cause.url, variables: cause.variables) } catch { return nil }
        guard let contents else { return nil }
        let entry = try entry(bytes, contents, cause)
        memory.withLock { memory in
            memory.keepVariables(of: contents, at: cause.url)
            memory.edges.update(cause.url, contents)
            memory.memo.insert(entry)
        }
        return entry
    }

    /// Returns a manifest that offers only the renditions that play without the network, or nil
    /// when it is no manifest or nothing would change.
    ///
    /// - Throws: As `rewrite(_:_:)`.
    func reduce(_ inventory: PresentationInventory, _ cause: ManifestMemo.Cause) throws(CacheError) -> ManifestMemo.Entry? {
        let playable = inventory.playable
        guard !playable.isEmpty, playable.count < inventory.outline.renditions.count else { return nil }
        guard var contents = try? reader.contents(of: inventory.bytes, at: cause.url, variables: cause.variables) else { return nil }
        contents.offer(playable, of: inventory.outline)
        var entry = try entry(inventory.bytes, contents, cause)
        entry.isReduced = true
        return entry
    }

    /// Whether a manifest may lead the proxy to an origin. If not, its references to that origin stay
    /// those of the player, with one notice for each pair of origins.
    private func mayLead(_ key: ResourceKey, from origin: URIReference.Origin?, to other: URIReference.Origin) -> Bool {
        guard let origin, let why = trust.refusal(from: origin, to: other) else { return true }
        let isNew = memory.withLock { memory in
            if memory.told.count >= Self.toldCapacity { memory.told.removeAll() }
            return memory.told.insert(why).inserted
        }
        if isNew { cache.record(.degradedToPassthrough(key, reason: "players ask for a part themselves: \(why)")) }
        return false
    }

    private func entry(_ bytes: [UInt8], _ contents: ManifestContents, _ cause: ManifestMemo.Cause) throws(CacheError) -> ManifestMemo.Entry
    {
        let origin = Self.parsed(cause.url)?.origin
        let address = ManifestAddress(
            rules: rules, prefix: prefix, isPathForm: cause.isPathForm, home: cause.home, authority: cause.authority,
            mayLead: { [self] in mayLead(cause.key, from: origin, to: $0) }, proof: proof)
        let body: [UInt8]
        do throws(ParseError) {
            body = try reader.rewritten(bytes, contents, verbatim: address.change, replacement: address.replacement)
        } catch { throw CacheError(.originMalformed, "can't rewrite the manifest \(cause.key): \(error)", key: cause.key, cause: error) }
        let check = body.withUnsafeBytes { CRC32C.of($0) }
        let tag = "\"spool-\(String(cause.generation.rawValue, radix: 36))-\(String(check, radix: 36))-\(body.count)\""
        return ManifestMemo.Entry(cause: cause, body: body, tag: tag, contents: contents)
    }
}
