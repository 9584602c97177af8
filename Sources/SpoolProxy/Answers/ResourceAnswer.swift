import Spool
import SpoolCore
import SpoolServer
import SpoolSystem

/// Answers one GET or HEAD for a resource: waits until the head is certain and the first byte is
/// available, then passes on to the body.
///
/// The steps are: find the representation (`prepare`), evaluate the preconditions, select the
/// ranges, wait for the first byte, and respond. Another version may replace the representation
/// until the client gets the response. Then the steps start again. Belongs to the loop's thread.
final class ResourceAnswer {
    private let exchange: Exchange
    private let cache: MediaCache
    private let url: MediaURL
    private let key: ResourceKey?
    /// The way to the variant that answers the request, or nil for a URL without a key.
    private var route: VariantRoute?
    private let now: @Sendable () -> Timestamp
    private let fieldRules: ResourceFields
    private let relay = WakeRelay()
    private let range: RangeHeader?
    private let isHead: Bool
    private var options: ReadOptions
    private var reader: SessionReader?
    private var position: Position?
    private var isAnswered = false
    /// Whether the reader's first bytes came from memory when they became available.
    private var beginsInMemory = false
    /// Whether the origin was asked for a redirect in place of the stored response behind it.
    private var wantsRedirect = false
    /// Whether the reader was started again at 0.
    private var isSecondLook = false
    /// Whether a manifest is read again from its beginning.
    private var readsWhole = false
    /// Whether the reader has joined without need of bytes, and needs some.
    private var owesWish = false
    private let manifests: ManifestDoor
    /// Whether the client resolves the references of manifests by itself.
    private let isForProgram: Bool
    /// The search for a manifest, or nil once the resource is known to be none.
    private var manifest: ManifestReading?

    /// The position to which the reader was sent.
    private struct Position {
        let generation: GenerationID
        /// The ranges to answer. Empty for the whole resource.
        let ranges: [ByteRange]
        /// How much was stored at that time. By the time of the response all bytes may be stored,
        /// but the request was still no hit.
        let coverage: SessionReader.Coverage
    }

    /// Creates an answer for the request of `exchange`.
    ///
    /// - Parameters:
    ///   - policy: When stored bytes are used without asking the origin, or nil for the cache's
    ///     policy.
    ///   - manifests: The memory about manifests, whose references lead through the proxy.
    ///   - client: The client's own request for the origin, or nil for a URL that cannot be asked.
    ///   - page: The requesting page's web site, in the form for the origin, or nil for none.
    ///   - visit: The settings of the player, or nil for none.
    init(
        exchange: Exchange, cache: MediaCache, url: MediaURL, key: ResourceKey?, policy: CachePolicy?, manifests: ManifestDoor,
        client: ClientRequest?, page: String?, fields: ResourceFields, visit: VisitSettings?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.exchange = exchange
        self.cache = cache
        self.url = url
        self.key = key
        self.now = now
        fieldRules = fields
        let request = exchange.request
        isHead = request.method == "HEAD"
        // Range is defined for GET only (RFC 9110 §14.2).
        range = isHead ? nil : request[.range].flatMap(RangeHeader.init)
        var options = ReadOptions(cachePolicy: policy)
        options.site = page
        options.requester = exchange.client
        if let visit { (options.requestFields, options.access) = (visit.requestFields(url.text), visit.access) }
        options.priority = RequestUrgency.priority(request.fields["Priority"])
        options.endsSoon = true
        options.takesAnyStatus = true
        options.asksWhole = range == nil
        if case .suffix(let count)? = range?.specs.first, range?.specs.count == 1, count > 0, !request.has(.ifRange) {
            options.suffix = min(count, ByteRange.maximumOffset)
        }
        options.followsRedirects =
            !fields.isSite
            || BrowserDestination(request[.secFetchDest]) == .other
                && (range != nil || MediaKind.isMediaExtension(pathExtension(url: url.text)))
        if request.has(.cacheControl) {
            options.request = CacheControl(request.fields)
        } else if let pragma = request[.pragma], CacheControl(pragma).noCache != nil {
            // HTTP/1.0 clients send `Pragma` (RFC 9111 §5.4).
            options.request = CacheControl("no-cache")
        }
        if options.request.onlyIfCached { options.mode = .onlyStored } else if options.request.noStore { options.mode = .doNotStore }
        self.manifests = manifests
        isForProgram = visit?.rewritesManifests == false
        if let key, !isForProgram {
            manifest = ManifestReading(door: manifests, url: url.text, key: key, request: request, client: exchange.client) { [relay] in
                relay.wake()
            }
            manifest?.adjust(&options)
        }
        self.options = options
        // The tag of a rewritten manifest is the proxy's own.
        let tags = manifest?.isExpected == true ? [] : Precondition.tags(of: request.fields)
        if let key, let client { route = VariantRoute(client, to: key, ownTags: tags) }
    }

    private var onlyStored: Bool { options.mode == .onlyStored }

    /// Begins. The response comes now or later.
    func begin() {
        // The relay keeps this object alive until the response, or until the client leaves.
        let loop = exchange.loop
        let box = LoopConfined(self)
        relay.set { loop.post { box.value.proceed() } }
        exchange.onClose { self.giveUp() }
        guard let route else { return join() }
        switch cache.variants.liveVerdict(of: route.base, for: route.client) {
        case .use: join()
        case nil: join(isLooking: true)
        case .ask, .other: search()
        }
    }

    /// Joins the session of the resource, or of its variant.
    ///
    /// - Parameter isLooking: Whether the version there may answer other requests. Then the reader
    ///   causes no fetch before it has looked.
    private func join(isLooking: Bool = false) {
        let (start, end, wantsBytes) = wish
        owesWish = wantsBytes && isLooking
        var options = options
        options.client = route?.client
        if route?.isApart == true { options.mode = .doNotStore }
        do {
            reader = try cache.sessionReader(
                for: url, key: route?.key ?? key, start: start, end: end, wantsBytes: wantsBytes && !isLooking, options: options,
                wake: { [relay] in relay.wake() })
        } catch {
            return fail(error)
        }
        proceed()
    }

    /// The range that the next reader joins with.
    private var wish: (start: Int64, end: Int64?, wantsBytes: Bool) {
        if isSecondLook { return (0, nil, false) }
        return readsWhole ? (0, nil, true) : firstWish
    }

    /// The range of the first origin request for a resource that is not known yet.
    private var firstWish: (start: Int64, end: Int64?, wantsBytes: Bool) {
        if manifest?.isExpected == true { return (0, nil, true) }
        if isHead || exchange.request.has(.ifNoneMatch) || exchange.request.has(.ifModifiedSince) { return (0, nil, false) }
        switch range?.specs.first {
        // The response contains the length of such a resource, if it has one, or reports that it
        // does not exist.
        case let spec? where spec.first ?? 0 >= ByteRange.maximumOffset: return (0, nil, false)
        case .bounded(let first, let last): return (first, last >= ByteRange.maximumOffset ? nil : last + 1, true)
        case .from(let first): return (first, nil, true)
        case .suffix where options.suffix != nil: return (0, nil, true)
        // The length must be known before the end of the resource is.
        case .suffix: return (0, nil, false)
        case nil: return (0, nil, true)
        }
    }

    // MARK: Steps

    private func proceed() {
        guard !isAnswered, let reader else { return }
        if let site = fieldRules.site {
            for head in reader.takeInterims() { exchange.sendInterim(head.status, fields: site.fieldsForClient(head)) }
        }
        if let version = manifest?.version, let step = manifest?.resume(reader, version), go(on: step, of: version, reader) { return }
        // An origin that has none of the client's tags sends the body that the client needs.
        let offersTags = route?.offersOwnTags == true && range == nil && !isHead
        if let step = route?.look(at: reader, wantsBytes: owesWish || offersTags), step != .open { return take(step) }
        if owesWish || (offersTags && route?.foundNothing == true) { reader.wantBytes() }
        owesWish = false
        // The head and the first byte leave together.
        switch reader.prepare(withFirstByte: true) {
        case .wait: return
        // The version changed while a manifest was read. The client has no byte of it yet.
        case .failed(let error) where manifest?.beginsAgain(after: error) == true: readAgain(reader)
        case .failed(let error): return fail(error)
        case .ready(let generation, let representation):
            if let step = route?.judge(representation, reader), step != .open { return take(step) }
            if !readsManifest(reader, generation, representation) { decide(reader, generation, representation) }
        }
    }

    // MARK: Variants

    private func take(_ step: VariantRoute.Step) {
        if step == .wait || step == .open { return }
        reader?.withdraw()
        reader = nil
        position = nil
        manifest?.startOver()
        if let duplicate = route?.takeDuplicate() { cache.variants.drop(duplicate) }
        if step == .search { search() } else { join(isLooking: true) }
    }

    /// Looks for the variant that answers the request, and joins it.
    private func search() {
        guard let route else { return }
        if route.isLost { return found(.success(.apart(key: route.apart, unasked: nil))) }
        let loop = exchange.loop
        let box = LoopConfined(self)
        cache.variants.find(of: route.base, for: route.client) { found in loop.post { box.value.found(found) } }
    }

    private func found(_ result: Result<VariantChoice, CacheError>) {
        guard !isAnswered else { return }
        switch result {
        case .failure(let error): fail(error)
        case .success(let choice):
            guard route?.isApart != true else {
                return fail(CacheError(.removed, "the resource's variants change too often; ask again", key: key))
            }
            guard route?.found(choice, onlyStored: onlyStored) == true else {
                return fail(CacheError(.notStored, "no stored variant answers this request, and only stored ones were asked for", key: key))
            }
            join(isLooking: true)
        }
    }

    // MARK: Manifests

    /// Goes on with the search for a manifest.
    ///
    /// - Returns: False once the resource is known to be none.
    private func readsManifest(_ reader: SessionReader, _ generation: GenerationID, _ representation: Representation) -> Bool {
        guard let manifest, representation.isContent else {
            // A child of a manifest that fails makes the manifest be asked for again.
            if !representation.isContent { manifests.childFailed(url.text, status: representation.status) }
            return false
        }
        return go(on: manifest.step(reader, generation, representation), of: representation, reader)
    }

    /// - Returns: False once the resource is known to be no manifest.
    private func go(on step: ManifestReading.Step, of representation: Representation, _ reader: SessionReader) -> Bool {
        switch step {
        case .wait: break
        case .other:
            manifest = nil
            return false
        case .again: readAgain(reader)
        case .manifest(let entry):
            exchange.held = entry.claim
            answer(ManifestResponse(entry, of: representation, request: exchange.request), reader)
        case .bytes(let bytes):
            exchange.held = manifest?.claim
            answer(ManifestResponse(bytes, of: representation, request: exchange.request), reader)
        case .elsewhere(let path): answer(Response(302, fields: fieldRules.error([.location: path])))
        case .failed(let error): fail(error)
        }
        return true
    }

    /// Reads the manifest anew, with a reader for the version of now.
    private func readAgain(_ reader: SessionReader) {
        reader.leave()
        manifest?.adjust(&options)
        (readsWhole, options.asksWhole) = (true, true)
        // Other requests replaced the version each time. None of them ends a response of its own.
        if manifest?.isLastRead == true, let route, !route.isApart, !onlyStored {
            return found(.success(.apart(key: route.apart, unasked: nil)))
        }
        join(isLooking: true)
    }

    private func answer(_ response: ManifestResponse, _ reader: SessionReader) {
        let fieldRules = fieldRules.of(response.representation)
        if goesToItsOrigin(fieldRules) { return lookForRedirect() }
        if let refusal = fieldRules.refusal(of: exchange.request, response.representation) {
            return answer(.error(403, refusal, fields: fieldRules.error([:])))
        }
        if Precondition.evaluate(fields: exchange.request.fields, representation: response.representation) == .failed {
            return conditionFailed(reader, fieldRules)
        }
        answer(response.response(fields(response.representation, reader.foundVersion ? .complete : .none), fieldRules))
    }

    /// Answers a request for another version than this one, which the origin may have.
    private func conditionFailed(_ reader: SessionReader, _ rules: ResourceFields) {
        if reader.foundVersion, !reader.wasValidated, !isSecondLook, !onlyStored { return lookAgain() }
        answer(.error(412, "the resource is not the version that the request names", fields: rules.error([:])))
    }

    private func decide(_ reader: SessionReader, _ generation: GenerationID, _ representation: Representation) {
        let fieldRules = fieldRules.of(representation)
        if goesToItsOrigin(fieldRules) { return lookForRedirect() }
        if let refusal = fieldRules.refusal(of: exchange.request, representation) {
            let status = representation.status < 400 ? 403 : representation.status
            return answer(.error(status, refusal, fields: fieldRules.error([:])))
        }
        guard representation.isContent else { return answerOther(reader, generation, representation) }
        let honoursRange: Bool
        switch Precondition.evaluate(fields: exchange.request.fields, representation: representation) {
        case .failed:
            return conditionFailed(reader, fieldRules)
        case .notModified:
            return answer(Response(304, fields: fields(representation, reader.foundVersion ? .complete : .none)))
        case .proceed(let honours):
            honoursRange = honours
        }
        if isHead {
            var fields = fields(representation, reader.foundVersion ? .complete : .none)
            fields[.contentLength] = representation.length.map(String.init)
            return answer(Response(200, fields: fields))
        }
        if honoursRange, !reader.readsPage, representation.length == nil, let part = part(of: reader) {
            return answerPart(reader, generation, representation, part, .unknown)
        }
        guard let length = representation.length, !reader.readsPage else {
            if !reader.readsPage, honoursRange, range?.isBeyondBound == true { return answerUnsatisfiable(length: nil) }
            // The response is a part, and the client needs the whole.
            if reader.servedPart != nil, !readsWhole { return readAgain(reader) }
            return answerWhole(reader, generation, representation)
        }
        switch honoursRange ? range?.resolve(length: length) ?? .whole : .whole {
        case .whole:
            answerWhole(reader, generation, representation)
        case .unsatisfiable:
            switch endQuestion(reader) {
            case nil: answerUnsatisfiable(length: length)
            case .conditional: lookAgain()
            case .own: lookApart()
            }
        case .ranges(let ranges) where ranges.count == 1:
            answerPart(reader, generation, representation, ranges[0], .bytes(length))
        case .ranges(let ranges) where !reader.isCombinable && reader.coverage(of: ranges) != .complete:
            // Each part would be a response of its own, and nothing ties it to the others. The
            // whole resource is one response (RFC 9110 §14.2).
            answerWhole(reader, generation, representation)
        case .ranges(let ranges):
            answerParts(reader, generation, representation, ranges, length)
        }
    }

    /// Whether a browser that shows or runs the response has to go to the origin that it came from,
    /// where it would be without the proxy.
    private func goesToItsOrigin(_ rules: ResourceFields) -> Bool {
        fieldRules.isSite && !rules.isSite && !wantsRedirect && !onlyStored
            && BrowserDestination(exchange.request[.secFetchDest]) != .other
    }

    /// Asks the site itself, whose redirect is the answer, and stores nothing.
    private func lookForRedirect() {
        wantsRedirect = true
        reader?.leave()
        (manifest, position) = (nil, nil)
        (options.mode, options.followsRedirects, options.request) = (.doNotStore, false, CacheControl("no-cache"))
        join()
    }

    private func answerWhole(_ reader: SessionReader, _ generation: GenerationID, _ representation: Representation) {
        guard let coverage = coverageIfReady(reader, generation, []) else { return }
        let fields = fields(representation, coverage)
        reader.markTold()
        answer(Response(200, fields: fields, body: .source(body(reader), length: representation.length)))
    }

    /// Answers with a response of another status. Ranges and conditions do not apply to it (RFC
    /// 9110 §13.2.1, §14.2).
    private func answerOther(_ reader: SessionReader, _ generation: GenerationID, _ representation: Representation) {
        // A 304, and a redirect that the proxy should have followed, describe the proxy's request.
        let isOwn =
            representation.status == 304 || (StatusRules.isRedirect(representation.status) && representation.fields.contains(.location))
        guard fieldRules.of(representation).isSite || !isOwn else {
            let head = ResponseHead(status: representation.status, fields: representation.fields)
            return fail(CacheError(OriginError.status(head), key: reader.key))
        }
        let known: SessionReader.Coverage? = isHead ? (reader.foundVersion ? .complete : SessionReader.Coverage.none) : nil
        guard let coverage = known ?? coverageIfReady(reader, generation, []) else { return }
        var fields = fields(representation, coverage)
        reader.markTold()
        let hasNoContent = StatusRules.hasNoContent(representation.status)
        if isHead || hasNoContent {
            fields[.contentLength] = hasNoContent ? nil : representation.length.map(String.init)
            return answer(Response(representation.status, fields: fields))
        }
        answer(Response(representation.status, fields: fields, body: .source(body(reader), length: representation.length)))
    }

    private func answerPart(
        _ reader: SessionReader, _ generation: GenerationID, _ representation: Representation, _ range: ByteRange, _ length: StatedLength
    ) {
        guard let coverage = coverageIfReady(reader, generation, [range]) else { return }
        var fields = fields(representation, coverage)
        fields[.contentRange] = ContentRange.part(range, length: length).fieldValue
        reader.markTold()
        answer(Response(206, fields: fields, body: .source(body(reader), length: range.count)))
    }

    /// The bytes of the client's range that the origin's response has, where no other response may
    /// continue it, and it states no complete length.
    private func part(of reader: SessionReader) -> ByteRange? {
        guard let served = reader.servedPart, case .ranges(let ranges)? = range?.resolve(length: served.upperBound),
            ranges.count == 1
        else { return nil }
        return served.contains(ranges[0].lowerBound) ? ranges[0] : nil
    }

    /// Answers several ranges. Each part has a reader of its own, which joins when its turn comes
    /// (RFC 9110 §14.6).
    private func answerParts(
        _ reader: SessionReader, _ generation: GenerationID, _ representation: Representation, _ ranges: [ByteRange], _ length: Int64
    ) {
        guard let coverage = coverageIfReady(reader, generation, ranges) else { return }
        var fields = fields(representation, coverage)
        let storesNothing = options.mode == .doNotStore || route?.isApart == true
        let parts = ranges.map { [cache, url, options, key = reader.key] range in
            MultipartByteRanges.Part(range) {
                PartBodySource(
                    cache: cache, url: url, key: key, page: options.site, range: range, generation: generation,
                    storesNothing: storesNothing)
            }
        }
        let multipart = MultipartByteRanges(parts: parts, partType: representation.contentType, total: length, boundary: boundary())
        fields[.contentType] = multipart.contentType
        reader.markTold()
        answer(Response(206, fields: fields, body: .source(multipart, length: multipart.length)))
        leave()
    }

    /// Returns a boundary of 128 random bits, which cannot occur in the parts.
    private func boundary() -> String {
        "spool-" + cache.environment.random.word()
    }

    /// The question whether the stored resource is longer at its origin: a client that asks behind
    /// the end knows more than the store. Parts of a live playlist address it by byte range while
    /// it grows, so each of them asks.
    private func endQuestion(_ reader: SessionReader) -> EndQuestion? {
        guard !isSecondLook, !onlyStored, range?.specs.contains(where: { $0.first != nil }) == true else { return nil }
        // By the rules of HTTP caching the stored length counts, unless a condition can question
        // it.
        let isStandard = options.cachePolicy == .standard
        if let question = reader.claimEndQuestion(), question == .conditional || !isStandard { return question }
        return manifests.edge(of: url.text) != nil && reader.foundVersion && !reader.wasValidated ? .conditional : nil
    }

    /// Passes the client's own range on, because nothing could tie its answer to the stored
    /// version.
    private func lookApart() {
        guard let route else { return lookAgain() }
        reader?.withdraw()
        (manifest, position) = (nil, nil)
        found(.success(.apart(key: route.apart, unasked: nil)))
    }

    /// Asks the origin before a stored length counts.
    private func lookAgain() {
        isSecondLook = true
        reader?.leave()
        manifest?.startOver()
        (options.request, options.isManifest) = (CacheControl("no-cache"), true)
        join()
    }

    private func answerUnsatisfiable(length: Int64?) {
        var fields = HTTPFields()
        if let length { fields[.contentRange] = ContentRange.unsatisfied(length: .bytes(length)).fieldValue }
        let has = length.map { "the resource has \($0) bytes" } ?? "the origin says so"
        answer(.error(416, "no byte of the range '\(exchange.request[.range] ?? "")' exists: \(has)", fields: fieldRules.error(fields)))
    }

    /// Sends the reader to the first range, once for each version, and checks whether its first
    /// byte is available.
    ///
    /// - Returns: How much was stored before any fetch, or nil when the response must wait or was
    ///   an error.
    private func coverageIfReady(
        _ reader: SessionReader, _ generation: GenerationID, _ ranges: [ByteRange]
    ) -> SessionReader.Coverage? {
        let position = position(of: reader, generation, ranges)
        // RFC 9111 §5.2.1.7: a response from stored bytes must not begin when some of them are
        // missing.
        if onlyStored, position.coverage != .complete {
            fail(CacheError(.notStored, "not all of these bytes are stored, and only stored ones were asked for", key: reader.key))
            return nil
        }
        switch reader.next(max: 1) {
        case .file, .end: return position.coverage
        case .memory:
            beginsInMemory = true
            return position.coverage
        case .wait: return nil
        case .failed(let error):
            fail(error)
            return nil
        }
    }

    private func position(of reader: SessionReader, _ generation: GenerationID, _ ranges: [ByteRange]) -> Position {
        if let position, position.generation == generation, position.ranges == ranges { return position }
        let new = Position(generation: generation, ranges: ranges, coverage: reader.coverage(of: ranges))
        reader.seek(to: ranges.first?.lowerBound ?? 0, end: ranges.first?.upperBound)
        position = new
        return new
    }

    private func body(_ reader: SessionReader) -> SessionBodySource {
        SessionBodySource(reader: reader, relay: relay, beginsInMemory: beginsInMemory)
    }

    // MARK: Fields

    private func fields(_ representation: Representation, _ coverage: SessionReader.Coverage) -> HTTPFields {
        let source: CacheStatus.Source =
            switch coverage {
            case .complete where reader?.wasValidated == true: .forwarded(options.request.noCache == nil ? .stale : .request)
            case .complete: .hit
            case .partial: .forwarded(.partial)
            case .none: .forwarded(.uriMiss)
            }
        let fieldRules = fieldRules.of(representation)
        var own = reader?.takeAskersFields() ?? [:]
        var cookies = own.values(of: .setCookie)
        own[.setCookie] = nil
        // Another origin, to which redirects led, sets no cookies of this one.
        if let final = representation.finalOrigin, final != url.origin.description { cookies = [] }
        if !fieldRules.isSite, !isForProgram { cookies = manifests.cookies(cookies, from: url, for: exchange.request) }
        let isOther = !representation.isContent && !(reader?.foundVersion != false)
        var fields = fieldRules.content(
            of: representation, source, isCollapsed: coverage == .none && reader?.hasAsked == false, own: own, cookies: cookies,
            forwardStatus: isOther ? representation.status : nil)
        if !fieldRules.isSite, let location = fields[.location] { fields[.location] = absolute(location, in: representation) }
        fields[.age] = String(representation.currentAge(now: now()))
        if isForProgram { fields[Representation.finalURLField] = representation.finalURL }
        return fields
    }

    /// Returns the URL that a `Location` names at the origin, or nil for a text that names none. At
    /// this proxy, a relative one would lead elsewhere.
    private func absolute(_ location: String, in representation: Representation) -> String? {
        let base = representation.finalURL ?? representation.finalOrigin ?? url.text
        do { return try URIReference(lenient: base).resolving(location: location).text } catch { return nil }
    }

    // MARK: Errors and the end

    private func fail(_ error: CacheError) {
        if error.code == .rangeNotSatisfiable { return rangeFailed(error) }
        if let reader, let step = route?.step(after: error, of: reader) { return take(step) }
        if case .status(304, let fields)? = error.cause as? OriginError, route?.offersOwnTags == true { return answerNotModified(fields) }
        let status = error.statusForClient
        if !error.isRefusal { manifests.childFailed(url.text, status: status) }
        var fields = error.tellingFields
        fields[.cacheStatus] = CacheStatus(.forwarded(.miss), forwardStatus: error.status, detail: error.code.rawValue).fieldValue
        fields[.proxyStatus] = (error.cause as? OriginError).flatMap(ProxyStatus.fieldValue)
        if case .notAsked(let target, _)? = error.cause as? OriginError, mayAskItself(for: target) {
            fields[.location] = target
            return answer(Response(307, fields: fieldRules.error(fields)))
        }
        answer(.error(status, error.message, fields: fieldRules.error(fields)))
    }

    /// Passes on a 304 of the origin to the conditions of the client.
    private func answerNotModified(_ fields: HTTPFields) {
        var fields = fieldRules.forwarded(ResponseHead(status: 304, fields: fields))
        fields.append(.cacheStatus, CacheStatus(.forwarded(.uriMiss), forwardStatus: 304).fieldValue)
        answer(Response(304, fields: fields))
    }

    /// Whether the client is sent to a URL that the proxy does not ask. A stranger could have made
    /// the proxied URL of a public name that leads to a private address; then it is refused.
    private func mayAskItself(for target: String) -> Bool {
        target.withoutUserinfo != url.withoutUserinfo || !(exchange.isFromNetwork || cache.configuration.freshness.isShared)
    }

    /// Handles an origin's answer that the first range has no bytes.
    ///
    /// Later ranges may have some. Also, `If-Range` decides whether the ranges count at all. That
    /// needs the validator, which a 416 may lack. In both cases the answer starts again at the
    /// beginning of the resource.
    private func rangeFailed(_ error: CacheError) {
        let mayHoldYet = exchange.request.has(.ifRange) || range?.specs.count ?? 0 > 1
        guard mayHoldYet, !isSecondLook else { return answerUnsatisfiable(length: error.length) }
        isSecondLook = true
        reader?.leave()
        join(isLooking: true)
    }

    private func answer(_ response: Response) {
        isAnswered = true
        if case .source = response.body {} else { leave() }
        exchange.respond(response)
    }

    private func giveUp() {
        isAnswered = true
        leave()
    }

    private func leave() {
        relay.clear()
        reader?.leave()
        reader = nil
    }
}

extension CacheError {
    /// The status with which the proxy reports the error.
    package var statusForClient: Int {
        switch code {
        // An unrequested success, redirect or 304 cannot be forwarded, because it would describe
        // the proxy's own response.
        case .originStatus: status.map { (400...599).contains($0) ? $0 : 502 } ?? 502
        case .originTimeout, .notStored, .networkRefused: 504
        case .unsupportedURL: 400
        case .exists: 409
        case .closed, .removed: 503
        case .originUnreachable where isRefusal: 403
        case .store, .storeLocked, .configuration: 500
        default: 502
        }
    }

    /// Whether the proxy itself refuses to ask for the resource.
    fileprivate var isRefusal: Bool { if case .notAsked? = cause as? OriginError { true } else { false } }

    /// The origin's fields with advice for the client, such as a time to retry or a demand for
    /// credentials.
    fileprivate var tellingFields: HTTPFields {
        guard case .status(_, var fields)? = cause as? OriginError else { return [:] }
        fields[.date] = nil
        return fields
    }

    /// The length of the resource, from an unsatisfiable range.
    fileprivate var length: Int64? {
        if case .rangeNotSatisfiable(let length)? = cause as? OriginError { length } else { nil }
    }
}

/// A value of the loop's thread that travels in a closure to that thread.
package struct LoopConfined<Value>: @unchecked Sendable {
    // Safe to send: made and used on the loop's thread only.
    package let value: Value
    /// Wraps a value on the loop's thread.
    package init(_ value: Value) { self.value = value }
}
