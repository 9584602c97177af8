#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
#if canImport(UniformTypeIdentifiers)
import UniformTypeIdentifiers
#endif

// Finding out what the resource is, and telling the player.

extension LoaderCore {
    /// A reader that asks what the resource is, and looks at its first bytes where the server is vague.
    struct Discovery {
        let reader: SessionReader
        var version: (GenerationID, Representation)?
        var firstBytes: [UInt8]?
        var partialBytes: [UInt8] = []
    }

    func discover() {
        // One that still runs for a request that was taken back answers for this one.
        guard discovery == nil else { return }
        do {
            let reader = try cache.sessionReader(
                for: source.originalURL.absoluteString, key: source.key, start: 0, end: Int64(ContentSniffer.byteCount), wantsBytes: false,
                options: readOptions, wake: wake { $0.lookAround() })
            discovery = Discovery(reader: reader)
            lookAround()
        } catch {
            discoveryFailed(error)
        }
    }

    /// A wake-up for readers: posts to the mailbox and does not keep the loader alive.
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

    /// Goes on with the discovery as far as it goes now.
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
        case .playlist: fallBack(.playlist)
        case .notMedia(let type): isNotMedia(type)
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
        return ContentTypeDecision(evidence)
    }

    /// Reads the first bytes. Where they can't be had the decision is made without them.
    private func sniff(_ reader: SessionReader) {
        // Each turn brings a byte at least, or ends.
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
        if let coding = representation.contentCoding, !coding.equalsIgnoringCase("identity"), !coding.isEmpty {
            return fallBack(.contentCoding(coding))
        }
        guard let length = representation.length else { return fallBack(.unknownLength) }
        guard length > 0 else {
            return discoveryFailed(CacheError(.notMedia, "the origin answered with an empty body", key: source.key))
        }
        let version = ToldVersion(generation: generation, representation: representation, contentType: identifier)
        if let told, !told.isSame(generation, representation) {
            return discoveryFailed(CacheError(OriginError.representationChanged, key: source.key))
        }
        if told == nil, let stored = cache.storedNow(of: source.key) { report.begins(with: stored) }
        told = version
        if let kind = identifier.flatMap(MediaKind.ofIdentifier) { door.learn(fileExtension: kind.fileExtension, of: source.key) }
        // The reader stays until those of the requests are there: what it began goes on for them.
        perform(machine.discovered(length: length, now: now))
        leaveDiscovery(explicitly: false)
    }

    /// Pages that stand in for media, of a hotel's network say, must not stay behind as the media. A page that came beside stored media
    /// is an error of the moment: the media stay.
    private func isNotMedia(_ type: String) {
        if discovery?.reader.readsPage != true {
            cache.remove(source.key) { [log] result in
                if case .failure(let error) = result { log.failed(error) }
            }
        }
        let words = "the origin sent a page of type \(type) instead of media; is there a sign-in in between?"
        discoveryFailed(CacheError(.notMedia, words, key: source.key))
    }

    private func discoveryFailed(_ error: CacheError) {
        switch error.code {
        case .originMalformed, .unsupportedURL, .store, .storeLocked, .closed:
            // Not the origin's answer to this request but our way of asking: the player may fare better.
            report.note(error)
            fallBack(.trouble(error.code), isLasting: !Self.mayPass(error))
        default:
            leaveDiscovery(explicitly: false)
            // Known also where another try may mend it: the app sees why nothing comes.
            if !isEnded { report.note(error) }
            perform(machine.discoveryFailed(LoadingFailure(error), now: now))
        }
    }

    /// Whether the next try may well fare better: a connection that broke is no property of the resource.
    private static func mayPass(_ error: CacheError) -> Bool {
        if case .truncated = error.cause as? OriginError { return true }
        return false
    }

    /// - Parameter isLasting: the next asset of the resource need not try the cache.
    private func fallBack(_ reason: FallbackReason, isLasting: Bool = true) {
        leaveDiscovery(explicitly: true)
        // An asset that ended is not the resource's fault.
        guard !isEnded else { return perform(machine.end(.released)) }
        guard told == nil else {
            // Too late to send the player elsewhere: it was told what the resource is.
            return perform(machine.discoveryFailed(LoadingFailure(reason.error(source.key)), now: now))
        }
        if isLasting { door.remember(reason, for: source.key) }
        cache.record(.degradedToPassthrough(source.key, reason: "the player loads the original: \(reason.words)"))
        log.fellBack(reason)
        perform(machine.fellBack(reason))
    }

    // MARK: Telling

    /// Fills in what the player asked to know.
    func inform(_ id: LoadingRequestID) {
        guard let told, let length = told.representation.length, let request = requests[id], !request.isCancelled, !request.isFinished,
            let information = request.contentInformationRequest
        else { return }
        // A type that is not allowed would raise an exception; none at all is legal.
        let isAllowed = told.contentType.map { information.allowedContentTypes?.contains($0) ?? true } ?? false
        information.contentType = isAllowed ? told.contentType : nil
        information.contentLength = length
        // Also for servers that answer 200: ranges are served from what is stored and what comes.
        information.isByteRangeAccessSupported = true
        // Then the player asks for just what it needs, when it needs it. With one byte missing it would wait for the network there.
        information.isEntireLengthAvailableOnDemand = isComplete(length)
        if let renewalDate = source.renewalDate { information.renewalDate = renewalDate }
    }

    private func isComplete(_ length: Int64) -> Bool {
        guard let stored = cache.storedNow(of: source.key), let whole = ByteRange(0, length) else { return false }
        return stored.contains(whole)
    }
}
#endif
