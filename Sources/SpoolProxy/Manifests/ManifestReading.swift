import Spool
import SpoolCore
import SpoolManifests
import SpoolServer
import SpoolSystem

/// The part of one answer that finds out whether the resource is a manifest, and rewrites it then.
/// Belongs to the loop's thread.
final class ManifestReading {
    /// The outcome of a step.
    enum Step {
        /// More bytes are on their way.
        case wait
        /// The resource is no manifest. The reader has to be moved to the first byte of the answer.
        case other
        /// The read begins anew, with the options that `adjust` changes.
        case again
        /// A manifest for the client.
        case manifest(ManifestMemo.Entry)
        /// All bytes of a resource that is no manifest.
        case bytes([UInt8])
        /// The client asks again, by a path at this proxy.
        case elsewhere(path: String)
        case failed(CacheError)
    }

    /// The most bytes of a resource that only its first bytes and a common type make a suspect.
    private static let possibleBytes = Representation.maxVagueBytes
    /// The first bytes that decide.
    private static let headBytes = 8
    /// The most times that a read begins anew because the version changed meanwhile.
    private static let attempts = 3

    private let door: ManifestDoor
    private let url: String
    private let key: ResourceKey
    private let request: RequestHead
    private let directives: DeliveryDirectives
    /// The name of the client, or nil for one that is not counted.
    private let client: [UInt8]?
    private let wake: @Sendable () -> Void
    /// Whether the URL is that of a manifest, or was one before.
    let isExpected: Bool
    /// The text, while it is collected, and the number of its bytes that the reader has taken.
    private var text: (shared: SharedText, position: Int)?
    /// The memory of the text, if it is collected.
    var claim: ManifestRoom.Claim? { text?.shared.claim }
    /// The work on the whole text.
    private var work: (text: WholeText, work: ManifestWork)?
    /// The version that the answer has, once its text is whole. The answer needs no further byte
    /// then, so a newer version and a failure of the reader change nothing.
    private(set) var version: Representation?
    private var generation: GenerationID?
    private var restarts = 0
    /// The look for parts that play without the network, once it was necessary.
    private var offline: ManifestWork?
    /// Whether the client does not want the origin to be asked.
    private var isOnlyStored = false
    /// The moment from which a confirmation by the origin counts for this answer.
    private let began: Timestamp

    /// Creates a reading.
    ///
    /// - Parameters:
    ///   - client: The name of the client, or nil for one that is not counted.
    ///   - wake: Called, on any thread, when a `.wait` is over.
    init(
        door: ManifestDoor, url: String, key: ResourceKey, request: RequestHead, client: [UInt8]?, wake: @escaping @Sendable () -> Void
    ) {
        self.door = door
        self.url = url
        self.key = key
        self.request = request
        self.client = client
        self.wake = wake
        began = door.wallNow()
        directives = DeliveryDirectives(url: url)
        isExpected = ManifestSuspicion(contentType: nil, url: url) == .named || door.note(key).isManifest
    }

    /// Changes the options of the read as the manifest needs it.
    func adjust(_ options: inout ReadOptions) {
        isOnlyStored = options.mode == .onlyStored
        options.part = door.part(URLHash(url))
        if let edge = door.edge(of: url) {
            options.isHeldBack = edge.isAnnounced
            // The part may have grown.
            if options.request == CacheControl("") { options.request = CacheControl("max-age=\(edge.targetSeconds)") }
        }
        guard isExpected || directives.isMomentary, options.mode == .automatic else { return }
        if directives.isMomentary { options.mode = .doNotStore }
        let note = door.note(key)
        options.isManifest = note.isManifest
        guard note.mustAsk || isStale(note) else { return }
        options.isManifest = true
        options.request = CacheControl("no-cache")
    }

    /// Whether the stored version of a live manifest is too old to be used.
    private func isStale(_ note: ManifestDoor.Note) -> Bool {
        guard case .atMost(let milliseconds) = note.lifetime, let since = note.heldSince else { return false }
        return door.wallNow().nanoseconds.subtractingSaturated(since.nanoseconds) >= .milliseconds(milliseconds)
    }

    // MARK: Steps

    /// Goes on with the bytes that `reader` has now.
    func step(_ reader: SessionReader, _ generation: GenerationID, _ representation: Representation) -> Step {
        guard text != nil || mayBeManifest(representation, reader) else { return .other }
        if text == nil {
            if suspicion(representation) == .named, let path = redirect(of: representation) { return .elsewhere(path: path) }
            let cause = door.cause(key, url: url, generation: generation, request: request)
            // Bytes that are not stored have to be fetched, so that they are those of now.
            if reader.wasValidated || reader.coverage(of: []) == .complete, let known = door.known(cause) {
                version = representation
                return finish(known, nil, reader, representation)
            }
            switch begins(reader, representation) {
            case nil: return .wait
            case false: return suspicion(representation) == .named ? inPathForm ?? .other : .other
            case true: break
            }
            if let length = representation.length, length > limit(representation) { return tooLong(representation) }
            reader.markTold()
            self.generation = generation
            let shared = door.text(
                key, at: cause.url, generation, length: representation.length, limit: limit(representation), for: client)
            text = (shared, 0)
        }
        return collect(reader, representation)
    }

    private func collect(_ reader: SessionReader, _ representation: Representation) -> Step {
        guard let shared = text?.shared, var position = text?.position, let generation else { return .other }
        let step = shared.take(from: reader, at: &position, wake: wake)
        text?.position = position
        switch step {
        case .wait: return .wait
        case .tooLong: return tooLong(representation)
        case .failed(let error) where error.code == .representationChanged && !isLastRead: return again()
        case .failed(let error): return .failed(error)
        // The first bytes may have been on the disk.
        case .complete(let whole) where suspicion(representation) != .named && !mayBegin(whole.bytes, representation):
            return .bytes(whole.bytes)
        case .complete(let whole):
            let cause = door.cause(key, url: url, generation: generation, request: request)
            version = representation
            work = (whole, door.begin(whole, isCoded: isCoded(representation), cause, shared.claim, wake: wake))
            return resume(reader, representation)
        }
    }

    /// Goes on with the work on `version`, whose text is whole.
    func resume(_ reader: SessionReader, _ version: Representation) -> Step {
        guard let result = (offline ?? work?.work)?.result else { return .wait }
        return finish(result, work?.text, reader, version)
    }

    /// Answers with the result of the work.
    ///
    /// - Parameter text: The text, if it was collected for this answer.
    private func finish(
        _ result: ManifestMemo.Result, _ text: WholeText?, _ reader: SessionReader, _ representation: Representation
    ) -> Step {
        switch result {
        case .rewritten(let entry): offline == nil ? finish(entry, reader, representation) : .manifest(entry)
        case .failed(let error): .failed(error)
        case .beyondLimit(let limit, mayLeadAway: true) where door.rules.fixedOrigin != nil: failed(beyond: limit)
        case .unchanged where suspicion(representation) == .named, .beyondLimit: inPathForm ?? asItCame(text)
        case .unchanged: asItCame(text)
        }
    }

    private func asItCame(_ text: WholeText?) -> Step { text.map { .bytes($0.bytes) } ?? .other }

    /// Sends a client of the query form to the path form, below which the relative references of a
    /// document that stays as it is lead through the proxy.
    private var inPathForm: Step? {
        guard leadsToPathForm else { return nil }
        return door.path(of: url, home: door.home(of: url, path: request.path)).map { .elsewhere(path: $0) }
    }

    /// Answers with a manifest of too many bytes. Behind a fixed origin its references could lead
    /// past the proxy.
    private func tooLong(_ representation: Representation) -> Step {
        guard door.rules.fixedOrigin != nil, suspicion(representation) == .named else { return .other }
        return failed(beyond: "at most \(limit(representation)) bytes")
    }

    private func failed(beyond limit: String) -> Step {
        .failed(CacheError(.originMalformed, "the manifest is beyond what this proxy can rewrite: expected \(limit)", key: key))
    }

    /// Judges the age of the manifest, and the URL by which the client has it.
    private func finish(_ entry: ManifestMemo.Entry, _ reader: SessionReader, _ representation: Representation) -> Step {
        if let path = redirect(of: representation) { return .elsewhere(path: path) }
        let isConfirmed = !reader.foundVersion || reader.wasValidated
        let note = door.read(entry, of: representation, isConfirmed: isConfirmed)
        if !isConfirmed, !isLastRead, isStale(note) { return again() }
        if entry.needsPathForm, let step = inPathForm { return step }
        guard isUnconfirmed(representation), [.hlsMultivariant, .mpd].contains(entry.kind) else { return .manifest(entry) }
        offline = door.offer(entry, wake: wake)
        return .wait
    }

    /// Whether the client asks by the query form, and the path form means the same.
    private var leadsToPathForm: Bool { request.path.hasPrefix("\(door.prefix)?") && !request.path.contains("key=") }

    /// Whether the stored manifest is used although the origin was asked and did not confirm it.
    private func isUnconfirmed(_ representation: Representation) -> Bool {
        guard !isOnlyStored, representation.responseTime < began else { return false }
        let rules = UseRules(policy: .standard, isShared: door.cache.configuration.freshness.isShared)
        return rules.use(of: representation, now: began) == .revalidate
    }

    /// Returns the path at this proxy to which the origin redirects the manifest. The client asks
    /// there, so that its references and its reloads have the right base.
    private func redirect(of representation: Representation) -> String? {
        guard let final = representation.finalURL, final != url,
            let path = door.path(of: final, home: door.home(of: url, path: request.path))
        else { return nil }
        door.update(key) { ($0.isManifest, $0.mustAsk) = (true, false) }
        door.redirected(key, to: final)
        return path
    }

    private func again() -> Step {
        restarts = min(restarts + 1, Self.attempts)
        startOver()
        return .again
    }

    /// Whether the read begins anew after an error of its reader: the version of a manifest changed
    /// while its text was collected.
    func beginsAgain(after error: CacheError) -> Bool {
        guard error.code == .representationChanged, text != nil, !isLastRead else { return false }
        _ = again()
        return true
    }

    /// Whether no further read may begin anew.
    var isLastRead: Bool { restarts >= Self.attempts }

    /// Forgets the bytes so far, because another reader comes.
    func startOver() { (text, work, version) = (nil, nil, nil) }

    // MARK: Suspicion

    /// Whether a response may be a manifest, by its fields, its length and its URL.
    static func mayBeManifest(_ representation: Representation, url: String) -> Bool {
        switch ManifestSuspicion(contentType: representation.contentType, url: url) {
        case .none: false
        case .named: true
        case .possible, .unlikely: representation.length ?? 0 <= possibleBytes
        }
    }

    private func mayBeManifest(_ representation: Representation, _ reader: SessionReader) -> Bool {
        switch suspicion(representation) {
        case .none: return false
        case .named: return door.rules.fixedOrigin != nil || representation.length ?? 0 <= door.reader.limits.maxBytes
        case .possible, .unlikely: return representation.length ?? 0 <= Self.possibleBytes && asksForBeginning(reader)
        }
    }

    private func suspicion(_ representation: Representation) -> ManifestSuspicion {
        let suspicion = ManifestSuspicion(contentType: representation.contentType, url: url)
        return suspicion != .none && isExpected ? .named : suspicion
    }

    /// Whether the request needs the first bytes anyway. A request for a part makes no fetch of the
    /// rest begin.
    private func asksForBeginning(_ reader: SessionReader) -> Bool {
        guard request.method == "GET" else { return false }
        guard let range = request[.range].flatMap(RangeHeader.init)?.specs.first else { return true }
        switch range {
        case .bounded(let first, _): return first == 0 && reader.coverage(of: []) == .complete
        case .from(let first): return first == 0
        case .suffix: return false
        }
    }

    private func limit(_ representation: Representation) -> Int {
        suspicion(representation) == .named ? door.reader.limits.maxBytes : Int(Self.possibleBytes)
    }

    /// Whether the first bytes are those of a manifest, or nil while they are not there.
    private func begins(_ reader: SessionReader, _ representation: Representation) -> Bool? {
        reader.seek(to: 0, end: nil)
        switch reader.next(max: Self.headBytes) {
        case .wait: return nil
        // The failure is reported by the answer that follows.
        case .end, .failed: return false
        // Bytes that are not in memory are read as a whole. They are few, or a manifest by their
        // name.
        case .file(let file, let range):
            let head = file.residentBytes(at: range.lowerBound, limit: Self.headBytes)
            return head.count < Self.headBytes || mayBegin(head, representation)
        case .memory(let bytes): return bytes.withBytes { $0.count < Self.headBytes || mayBegin($0, representation) }
        }
    }

    private func mayBegin(_ bytes: some RandomAccessCollection<UInt8>, _ representation: Representation) -> Bool {
        ManifestReader.mayBegin(bytes, at: url, isUnlikely: suspicion(representation) == .unlikely, isCoded: isCoded(representation))
    }

    /// Whether the bytes may be coded, although the transport removes the codings that it asks for.
    private func isCoded(_ representation: Representation) -> Bool {
        suspicion(representation) == .named || representation.fields.contains(.contentEncoding)
    }
}
