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
    /// The most bytes of their keys: 256 for each.
    private static let noteBytes = 1 << 20
    /// The most reasons that are remembered as told.
    private static let toldCapacity = 256
    /// The pause between two refetches of a manifest whose children fail.
    private static let refetchPause: Nanoseconds = .seconds(30)

    /// The most URLs that are parsed on an event loop for the order of eviction. Each takes some
    /// microseconds.
    private static let parsedOnLoop = 256

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
        /// The version that was read last, and the arrival of the first one that replaced another.
        var generation: GenerationID?
        var changedAt: Timestamp?
        /// Whether the origin sent or confirmed the version that was read last.
        var isConfirmed = false
    }

    let rules: ProxyTargetRules
    let prefix: String
    let reader: ManifestReader
    let wallNow: @Sendable () -> Timestamp
    /// The cache, which has the parts of presentations.
    let cache: MediaCache
    let lanes: ManifestLanes
    private let room: ManifestRoom
    private let proofs: SipHash
    private let trust: ReferenceTrust
    private let memory: Locked<Memory>
    private let liveCount = SharedNumber(0)

    /// The version of a resource, by the URL that its references are relative to, and the most
    /// bytes of its text. Several URLs may have one key.
    private struct TextID: Hashable {
        var key: ResourceKey
        var url: String
        var generation: GenerationID
        var limit: Int
    }

    private struct WeakText {
        weak var text: SharedText?
    }

    private struct Memory {
        var memo: ManifestMemo
        /// The texts that are being collected, as long as somebody needs them.
        var texts: [TextID: WeakText] = [:]
        /// The work under way.
        var works: [ManifestMemo.Cause: ManifestWork] = [:]
        /// The resources at the edge of live playlists.
        var edges = LiveEdges()
        var notes = BoundedTable<ResourceKey, Note>(capacity: noteCapacity, bytes: noteBytes) { key, _ in key.string.utf8.count }
        var variables = ImportedVariables()
        /// The reasons why references were left to the player, each of which was told once.
        var told: Set<String> = []
        /// The manifests that were redirected to a URL.
        var redirected = BoundedTable<URLHash, ResourceKey>(capacity: noteCapacity, bytes: noteBytes) { $1.string.utf8.count }

        /// Changes the note on a resource.
        mutating func update<R>(_ key: ResourceKey, _ change: (inout Note) -> R) -> R {
            var note = notes[key] ?? Note()
            defer { notes[key] = note }
            return change(&note)
        }
    }

    /// Creates the memory of a proxy.
    ///
    /// - Parameter bytesOfClient: The most memory of manifests for one client of the network.
    init(
        cache: MediaCache, rules: ProxyTargetRules, prefix: String, names: Pseudonyms, bytesOfClient: Int = ManifestRoom.bytesOfClient,
        wallNow: @escaping @Sendable () -> Timestamp
    ) {
        self.cache = cache
        reader = ManifestReader(formats: cache.configuration.manifestFormats)
        memory = Locked(Memory(memo: ManifestMemo(liveCount)))
        room = ManifestRoom(bytesOfClient: bytesOfClient)
        lanes = ManifestLanes(cache.environment.manifestLanes)
        self.rules = rules
        self.prefix = prefix
        proofs = SipHash(key: names.proofKey)
        trust = ReferenceTrust(privateNames: cache.configuration.security.privateNames, reaches: [rules.reach])
        self.wallNow = wallNow
    }

    /// Returns the proof for the beginning of URLs of another origin than the fixed one.
    func proof(_ beginning: [UInt8]) -> UInt64 { proofs.of(beginning) }

    /// Returns the path at this proxy of a URL that a manifest names, or nil for a resource that
    /// the proxy does not serve.
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

    /// Returns the place of a resource in a presentation whose manifest this proxy read lately, or
    /// nil.
    func part(_ url: URLHash) -> PresentationPart? { memory.withLock { place(of: url, in: $0) } }

    /// Returns the place of a resource in a live presentation, or nil. Each hit asks, and only a live
    /// presentation that is played costs a search.
    func livePart(_ url: URLHash) -> PresentationPart? {
        guard liveCount.value > 0, let part = part(url), part.isLive else { return nil }
        return part
    }

    private func place(of url: URLHash, in memory: Memory) -> PresentationPart? {
        guard let entry = memory.memo.presentation(of: url) else { return nil }
        guard !entry.isLive else {
            return PresentationPart(isLive: true, confirmedSince: memory.edges.confirmedSince(entry.cause.url, now: wallNow()))
        }
        let note = memory.notes[entry.cause.key]
        let since = note?.isConfirmed == true ? note?.changedAt ?? Timestamp(nanoseconds: .min) : nil
        return PresentationPart(isLive: false, confirmedSince: since)
    }

    /// Notes that a client gets a manifest.
    ///
    /// - Parameter isConfirmed: Whether the origin sent or confirmed it for this answer.
    func read(_ entry: ManifestMemo.Entry, of representation: Representation, isConfirmed: Bool) -> Note {
        memory.withLock { memory in
            memory.edges.followed(entry.cause.url, at: representation.responseTime, entry)
            return memory.update(entry.cause.key) { note in
                note.isManifest = true
                note.lifetime = entry.lifetime
                note.heldSince = representation.responseTime
                if note.generation.map({ $0 != entry.cause.generation }) == true { note.changedAt = representation.responseTime }
                note.generation = entry.cause.generation
                note.isConfirmed = note.isConfirmed || isConfirmed
                if isConfirmed { note.mustAsk = false }
                return note
            }
        }
    }

    /// Handles the failure of a resource. A signature in the manifest that names it may have
    /// expired, so the origin is asked for that manifest at its next use.
    func childFailed(_ url: String, status: Int) {
        guard [401, 403, 404, 410].contains(status) else { return }
        let now = wallNow(), url = URLHash(url)
        memory.withLock { memory in
            for parent in memory.memo.parents(of: url) + [memory.redirected[url]].compactMap({ $0 }) {
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
        memory.withLock { $0.redirected[URLHash(url)] = key }
    }

    // MARK: Rewriting

    /// Returns the cause of a rewritten manifest for a request.
    func cause(_ key: ResourceKey, url: String, generation: GenerationID, request: RequestHead) -> ManifestMemo.Cause {
        let home = home(of: url, path: request.path)
        let isPathForm = Self.parsed(url).map { rules.isPathForm(request.path, of: $0, prefix: prefix, home: home, proof: proof) }
        return ManifestMemo.Cause(
            key: key, url: url, generation: generation, isPathForm: isPathForm ?? false, home: home,
            place: "\(request.publicScheme)://\(request.publicAuthority ?? "localhost")",
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

    /// Returns the result of earlier work for the same cause.
    func known(_ cause: ManifestMemo.Cause) -> ManifestMemo.Result? {
        memory.withLock { memory in
            guard let result = memory.memo.result(for: cause) else { return nil }
            if case .rewritten(let entry) = result { memory.variables.keep(entry) }
            return result
        }
    }

    /// Returns the text of a version, which all its readers collect together. The first one's
    /// client has the memory of it.
    func text(
        _ key: ResourceKey, at url: String, _ generation: GenerationID, length: Int64?, limit: Int, for client: [UInt8]?
    ) -> SharedText {
        let id = TextID(key: key, url: url, generation: generation, limit: limit)
        return memory.withLock { memory in
            if let text = memory.texts[id]?.text { return text }
            memory.texts = memory.texts.filter { $0.value.text != nil }
            let text = SharedText(at: url, length: length, limit: limit, claim: ManifestRoom.Claim(on: room, for: client))
            memory.texts[id] = WeakText(text: text)
            return text
        }
    }

    /// The longest URL of a manifest that is rewritten on the loop, in bytes. Each change of the
    /// directory in the document costs a hash of the URL.
    private static let addressOnLoop = 1024

    /// Begins to read and rewrite a manifest, or joins the work that is under way.
    ///
    /// A small one is done at once. A larger one, one with a long URL, and one that takes more than
    /// its size suggests, goes to a lane.
    ///
    /// - Parameters:
    ///   - isCoded: Whether the text may be in gzip.
    ///   - claim: The memory of the text.
    ///   - wake: Called, on any thread, when the work ends, unless it has ended at once.
    func begin(
        _ text: WholeText, isCoded: Bool, _ cause: ManifestMemo.Cause, _ claim: ManifestRoom.Claim, wake: @escaping @Sendable () -> Void
    ) -> ManifestWork {
        let small = ManifestLimits.onLoop, number = memory.withLock { $0.memo.beginWork() }
        if text.bytes.count <= small.maxBytes, text.url.utf8.count <= Self.addressOnLoop {
            let result = rewrite(text, isCoded: isCoded, cause, claim, ManifestReader(limits: small, formats: reader.formats), number)
            guard case .beyondLimit = result else { return ManifestWork(result) }
        }
        let (work, isNew) = memory.withLock { memory in
            if let work = memory.works[cause] { return (work, false) }
            let work = ManifestWork()
            memory.works[cause] = work
            return (work, true)
        }
        work.onEnd(wake)
        guard isNew else { return work }
        lanes.post(for: claim.client) { [self] in
            let result = rewrite(text, isCoded: isCoded, cause, claim, reader, number)
            memory.withLock { memory in
                memory.works[cause] = nil
                memory.memo.keep(result, for: cause)
            }
            work.end(result)
        }
        return work
    }

    /// Reads and rewrites a manifest.
    private func rewrite(
        _ text: WholeText, isCoded: Bool, _ cause: ManifestMemo.Cause, _ claim: ManifestRoom.Claim, _ reader: ManifestReader,
        _ number: Int
    ) -> ManifestMemo.Result {
        let found: ManifestContents?, bytes: [UInt8]
        do throws(ParseError) {
            bytes = isCoded && Gzip.begins(text.bytes) ? try Gzip.decoded(text.bytes, maxBytes: reader.limits.maxBytes) : text.bytes
            found = try reader.contents(of: bytes, at: text.url, variables: cause.variables)
        } catch {
            return error.isBeyondLimit ? beyondLimit(error, text) : .unchanged
        }
        guard let contents = found else { return .unchanged }
        do throws(ParseError) {
            var entry = try entry(bytes, contents, cause, reader)
            entry.work = number
            entry.claim = claim.another(bytes: entry.heldBytes)
            memory.withLock { memory in
                guard memory.memo.insert(entry) else { return }
                memory.variables.keep(entry)
                memory.edges.update(cause.url, contents)
            }
            let isOnLoop = reader.limits.maxBytes == ManifestLimits.onLoop.maxBytes
            if !note(contents, of: cause.key, parsing: isOnLoop ? Self.parsedOnLoop : .max) {
                lanes.post(for: claim.client) { [self] in _ = note(contents, of: cause.key, parsing: .max) }
            }
            return .rewritten(entry)
        } catch {
            return error.isBeyondLimit ? beyondLimit(error, text) : .failed(failure(of: cause, error))
        }
    }

    /// Passes the parts of a playlist to the cache, which evicts them in the order of the timeline.
    ///
    /// - Returns: False if more than `limit` URLs had to be parsed. Nothing was passed then.
    private func note(_ contents: ManifestContents, of key: ResourceKey, parsing limit: Int) -> Bool {
        guard contents.kind == .hlsMultivariant || contents.kind == .hlsMedia else { return true }
        let roles: [ManifestReference.Role] = contents.kind == .hlsMedia ? [.segment, .part, .map, .key] : [.playlist]
        guard let keys = contents.references.keys(roles, cache.configuration.freshness.keyPolicy, parsing: limit) else { return false }
        if contents.kind == .hlsMedia {
            cache.room.listed(keys, in: key, isLive: contents.lifetime != .byHTTP)
        } else {
            cache.room.named(keys, by: key)
        }
        return true
    }

    private func beyondLimit(_ error: ParseError, _ text: WholeText) -> ManifestMemo.Result {
        .beyondLimit(error.expected, mayLeadAway: text.mayLeadAway(from: prefix))
    }

    private func failure(of cause: ManifestMemo.Cause, _ error: ParseError) -> CacheError {
        CacheError(.originMalformed, "can't rewrite the manifest \(cause.key): \(error)", key: cause.key, cause: error)
    }

    /// Begins to find out which renditions of a manifest play without the network. The result is the
    /// manifest for the player.
    ///
    /// A player that chooses another variant would stop at its first missing segment. While nothing is
    /// complete, the manifest stays as it is: the network may be back soon.
    ///
    /// - Parameter wake: Called, on any thread, when there is a result.
    func offer(_ entry: ManifestMemo.Entry, wake: @escaping @Sendable () -> Void) -> ManifestWork {
        let work = ManifestWork()
        work.onEnd(wake)
        cache.presentations.inventory(of: entry.cause.key) { [self] found in
            lanes.post(for: entry.claim?.client) { [self] in
                do throws(CacheError) {
                    // Without an answer of the store, the manifest stays as it is.
                    guard case .success(let inventory?) = found else { return work.end(.rewritten(entry)) }
                    work.end(.rewritten(try reduce(inventory, entry) ?? entry))
                } catch { work.end(.failed(error)) }
            }
        }
        return work
    }

    /// Returns a manifest that offers only the renditions that play without the network, or nil
    /// when it is no manifest or nothing would change.
    ///
    /// - Throws: `.originMalformed` when it is not certain which bytes the result has.
    func reduce(_ inventory: PresentationInventory, _ whole: ManifestMemo.Entry) throws(CacheError) -> ManifestMemo.Entry? {
        let playable = inventory.playable, cause = whole.cause
        guard !playable.isEmpty, playable.count < inventory.outline.renditions.count else { return nil }
        guard var contents = try? reader.contents(of: inventory.bytes, at: cause.url, variables: cause.variables) else { return nil }
        do throws(ParseError) {
            // The inventory has the text of the resource's first variant, and perhaps of a newer
            // version.
            guard try entry(inventory.bytes, contents, cause, reader).tag == whole.tag else { return nil }
            contents.offer(playable, of: inventory.outline)
            var entry = try entry(inventory.bytes, contents, cause, reader)
            entry.isReduced = true
            return entry
        } catch {
            if error.isBeyondLimit { return nil }
            throw failure(of: cause, error)
        }
    }

    /// Whether a manifest may lead the proxy to an origin. If not, its references to that origin
    /// stay those of the player, with one notice for each pair of origins.
    private func mayLead(_ key: ResourceKey, from origin: URIReference.Origin?, to other: URIReference.Origin) -> Bool {
        guard let origin, let why = trust.refusal(from: origin, to: other) else { return true }
        let isNew = memory.withLock { memory in
            if memory.told.count >= Self.toldCapacity { memory.told.removeAll() }
            return memory.told.insert(why).inserted
        }
        if isNew { cache.record(.degradedToPassthrough(key, reason: "players ask for a part themselves: \(why)")) }
        return false
    }

    private func entry(
        _ bytes: [UInt8], _ contents: ManifestContents, _ cause: ManifestMemo.Cause, _ reader: ManifestReader
    ) throws(ParseError) -> ManifestMemo.Entry {
        let origin = Self.parsed(cause.url)?.origin
        var address = ManifestAddress(
            of: cause, rules: rules, prefix: prefix, isAbsolute: contents.kind == .hlsMedia && !HLSPlaylist.mentions("#EXT-X-", bytes),
            mayLead: { [self] in mayLead(cause.key, from: origin, to: $0) }, proof: proof)
        var contents = contents
        var usesItsAddress = contents.kind.isHLS ? contents.usesItsAddress : contents.base == .address
        if !cause.isPathForm, case .insertable(let offsets, let prefix) = contents.base {
            if let text = address.directory.flatMap(ManifestReference.Syntax.xml.written) {
                let element = "<\(prefix)BaseURL>".utf8 + text + "</\(prefix)BaseURL>".utf8
                for offset in offsets { contents.edits.replace(offset..<offset, with: element) }
            } else {
                usesItsAddress = true
            }
        }
        let body = try reader.rewritten(
            bytes, contents, verbatim: { address.change(to: $0) }, replacement: { address.replacement(for: $0) })
        let check = body.withUnsafeBytes { CRC32C.of($0) }
        let tag = "\"spool-\(String(cause.generation.rawValue, radix: 36))-\(String(check, radix: 36))-\(body.count)\""
        return ManifestMemo.Entry(
            cause: cause, body: body, tag: tag, kind: contents.kind, lifetime: contents.lifetime,
            mediaSequence: contents.mediaSequence, variables: contents.variables, children: address.children,
            playlists: contents.variables.isEmpty ? [] : contents.references.firstPlaylists(ImportedVariables.childrenOfParent),
            needsPathForm: !cause.isPathForm && usesItsAddress)
    }
}

extension WholeText {
    /// The bytes before a reference.
    private static let beginnings = Set("\n\t \"'>".utf8)

    /// Whether a reference of the manifest may lead past a proxy that stands in for its origin: an
    /// absolute one, and one from the root where the proxy's paths begin with a prefix. JSON is not
    /// searched, because most of it is no manifest.
    fileprivate func mayLeadAway(from prefix: String) -> Bool {
        guard bytes.first != UInt8(ascii: "{") else { return false }
        return bytes.withUnsafeBytes { bytes in
            var next = 1
            while let slash = bytes.firstIndex(of: UInt8(ascii: "/"), from: next) {
                let isFirst = Self.beginnings.contains(bytes[slash - 1])
                let isDouble = slash + 1 < bytes.count && bytes[slash + 1] == UInt8(ascii: "/")
                if isDouble && (isFirst || bytes[slash - 1] == UInt8(ascii: ":")) || isFirst && prefix != "/" { return true }
                next = slash + 1
            }
            return false
        }
    }
}
