#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
#if canImport(UniformTypeIdentifiers)
import UniformTypeIdentifiers
#endif

// Discovery of the resource, and the content information for the player.

extension LoaderCore {
    /// A reader that discovers the resource, and reads its first bytes when the server's type is
    /// vague.
    struct Discovery {
        let reader: SessionReader
        var version: (GenerationID, Representation)?
        var firstBytes: [UInt8]?
        var partialBytes: [UInt8] = []
    }

    func discover() {
        // A discovery that still runs for a cancelled request also answers this one.
        guard discovery == nil else { return }
        do {
            let reader = try cache.sessionReader(
                for: source.presentURL.absoluteString, key: source.key, start: 0, end: Int64(ContentSniffer.byteCount), wantsBytes: false,
                options: readOptions, wake: wake { $0.lookAround() })
            discovery = Discovery(reader: reader)
            lookAround()
        } catch {
            discoveryFailed(error)
        }
    }

    /// Returns a wake-up for readers, which posts to the mailbox and does not keep the loader
    /// alive.
    func wake(_ job: @escaping @Sendable (LoaderCore) -> Void) -> @Sendable () -> Void {
        { [weak self, mailbox] in
            mailbox.post { [weak self] in
                if let self { job(self) }
            }
        }
    }

    func leaveDiscovery(explicitly: Bool) {
        discovery?.reader.leave(explicitly: explicitly)
        discovery = nil
    }

    /// Continues the discovery as far as it gets now.
    private func lookAround() {
        guard let reader = discovery?.reader else { return }
        if discovery?.version == nil {
            switch reader.prepare() {
            case .ready(let generation, let representation): discovery?.version = (generation, representation)
            case .wait: return
            case .failed(let error): return discoveryFailed(error)
            }
        }
        guard let (generation, representation) = discovery?.version else { return }
        switch decision(representation) {
        case .needsBytes: sniff(reader)
        case .identifier(let identifier): found(generation, representation, identifier)
        case .undecided: found(generation, representation, nil)
        case .playlist: fallBack(.playlist, to: source.proxyRoute?())
        case .notMedia(let type): removePage(type)
        case .unsupported(let kind): refuseContainer(kind)
        }
    }

    private func decision(_ representation: Representation) -> ContentTypeDecision {
        var evidence = ContentTypeDecision.Evidence(
            hint: source.typeHint, contentType: representation.contentType,
            fileExtension: source.originalURL.pathExtension.lowercased(), firstBytes: discovery?.firstBytes)
        #if canImport(UniformTypeIdentifiers)
        evidence.identifierOfMediaType = { UTType(mimeType: $0).flatMap { $0.conforms(to: .audiovisualContent) ? $0.identifier : nil } }
        #endif
        if evidence.fileExtension == "" { evidence.fileExtension = nil }
        let allowed = requests.values.compactMap { $0.contentInformationRequest?.allowedContentTypes }.flatMap(\.self)
        evidence.isOpenable = { OpenableTypes.contains($0) || allowed.contains($0) }
        return ContentTypeDecision(evidence)
    }

    /// Reads the first bytes. When they are unavailable, the decision is made without them.
    private func sniff(_ reader: SessionReader) {
        // Each turn adds at least one byte, or ends.
        for _ in 0...ContentSniffer.byteCount {
            let partial = discovery?.partialBytes ?? []
            guard partial.count < ContentSniffer.byteCount else { break }
            guard let piece = piece(of: reader, max: ContentSniffer.byteCount - partial.count) else { break }
            switch piece {
            case .bytes(let data): discovery?.partialBytes = partial + data
            case .wait: return
            case .end, .failed: return sniffed()
            }
        }
        sniffed()
    }

    private func sniffed() {
        let bytes = discovery?.partialBytes
        discovery?.firstBytes = bytes
        lookAround()
    }

    // MARK: Outcomes

    private func found(_ generation: GenerationID, _ representation: Representation, _ identifier: String?) {
        if let coding = representation.fields.contentCoding {
            return fallBack(.contentCoding(coding))
        }
        guard let length = representation.length else { return redirectOpenEnded(representation) }
        guard length > 0 else {
            return discoveryFailed(CacheError(.notMedia, "the origin answered with an empty body", key: source.key))
        }
        let version = ToldVersion(generation: generation, representation: representation, contentType: identifier)
        if let told, !told.isSame(generation, representation) {
            return discoveryFailed(CacheError(OriginError.representationChanged, key: source.key))
        }
        if told == nil, let stored = cache.storedNow(of: source.key) { report.begins(with: stored) }
        if !isEnded { stage = .told(version) }
        if let kind = identifier.flatMap(MediaKind.ofIdentifier) { door.resources.learn(fileExtension: kind.fileExtension, of: source.key) }
        // The reader stays until the requests have their readers, so that these join the fetch that
        // it began.
        perform(machine.discovered(length: length, now: now))
        leaveDiscovery(explicitly: false)
    }

    /// Redirects the player: AVFoundation takes no content information without a length. The proxy
    /// passes a body without length on and stores it. A live stream plays from its original URL.
    private func redirectOpenEnded(_ representation: Representation) {
        guard source.storesOpenEndedBodies, !OpenEndedBody.isLive(representation), let place = source.proxyRoute?() else {
            return fallBack(.unknownLength)
        }
        fallBack(.openEnded, to: place)
    }

    /// Removes a page that replaced media, such as that of a hotel's network, so that it is not
    /// kept as the media. A page that came while media are stored is a temporary error, and the
    /// media stay.
    private func removePage(_ type: String) {
        if discovery?.reader.readsPage != true {
            cache.remove(source.key) { [log] result in
                if case .failure(let error) = result { log.failed(error) }
            }
        }
        let words = "the origin sent a page of type \(type) instead of media; is there a sign-in in between?"
        discoveryFailed(CacheError(.notMedia, words, key: source.key))
    }

    /// Ends the requests of a container that the system does not open, before the player receives
    /// bytes that it cannot use. A hint of the app (`contentTypeKey`) skips this check.
    private func refuseContainer(_ kind: MediaKind) {
        let words = "AVFoundation on this system opens no .\(kind.fileExtension) files (\(kind.identifier)); offer another format"
        discoveryFailed(CacheError(.unsupportedMedia, words, key: source.key))
    }

    private func discoveryFailed(_ error: CacheError) {
        if renewIfRefused(error) { return leaveDiscovery(explicitly: false) }
        if Self.isOfItsOwn(error), source.original().afterRedirect {
            report.note(error)
            return fallBack(.trouble(error.code), isLasting: !Self.mayPass(error))
        }
        leaveDiscovery(explicitly: false)
        fail(error)
    }

    private func fail(_ error: CacheError) {
        // Reported also when another try may succeed, so that the app can see why no bytes come.
        if !isEnded { report.note(error) }
        machine.mayFallBack = source.original().afterRedirect
        perform(machine.discoveryFailed(LoadingFailure(error), now: now))
    }

    /// Whether an error is in Spool's way of fetching and not in the origin's response, so that the
    /// player may succeed by itself.
    private static func isOfItsOwn(_ error: CacheError) -> Bool {
        if case .notAsked = error.cause as? OriginError { return true }
        return [.originMalformed, .unsupportedURL, .store, .storeLocked, .closed].contains(error.code)
    }

    /// Whether the next try may succeed. A broken connection is not a property of the resource, and
    /// neither is trouble of the store.
    private static func mayPass(_ error: CacheError) -> Bool {
        if case .truncated = error.cause as? OriginError { return true }
        return [.store, .storeLocked, .closed].contains(error.code)
    }

    /// Sends the player to the original URL, or to the proxy. Fails it where the original must not
    /// be played.
    ///
    /// - Parameters:
    ///   - place: The place at the proxy, or nil for the original URL.
    ///   - isLasting: Whether later assets of the resource skip the cache as well.
    func fallBack(_ reason: FallbackReason, to place: ProxyRoute? = nil, isLasting: Bool = true) {
        // The proxy's reader joins the fetch that lingers.
        leaveDiscovery(explicitly: reason != .openEnded)
        // An asset that ended does not count against the resource.
        guard !isEnded else { return perform(machine.end(.released)) }
        // A player that has the content information can no longer be redirected.
        guard told == nil else { return fail(reason.error(source.key)) }
        if let place {
            stage = .redirected(place)
            report.redirected(toProxy: true)
        } else if source.original().isForbidden {
            let words = "\(reason.words), and the app's transform or networks rule the original out"
            return fail(CacheError(.notStored, words, key: source.key))
        }
        if isLasting { door.resources.remember(reason, for: source.key) }
        log.fellBack(reason)
        perform(machine.fellBack(reason))
    }

    // MARK: Content information

    /// Fills in the content information of a request.
    func inform(_ id: LoadingRequestID) {
        guard let told, let length = told.representation.length, let request = requests[id], !request.isCancelled, !request.isFinished,
            let information = request.contentInformationRequest
        else { return }
        information.contentType = OpenableTypes.allowed(told.contentType, among: information.allowedContentTypes)
        information.contentLength = length
        // Set also for servers that answer 200, because ranges are served from stored and arriving
        // bytes.
        information.isByteRangeAccessSupported = true
        // The player then asks for exactly the bytes that it needs, when it needs them. If one byte
        // were missing, the player would wait for the network at that point.
        information.isEntireLengthAvailableOnDemand = isComplete(length)
        // A date in the past would make AVFoundation ask at once, again and again.
        if let renewalDate = source.renewalDate, renewalDate > wallNow { information.renewalDate = renewalDate }
    }

    private func isComplete(_ length: Int64) -> Bool {
        guard let stored = cache.storedNow(of: source.key), let whole = ByteRange(0, length) else { return false }
        return stored.contains(whole)
    }
}
#endif
