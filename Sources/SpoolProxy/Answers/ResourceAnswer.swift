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
    private let query: ResourceQuery
    /// The way to the variant that answers the request, or nil for a URL without a key.
    private var route: VariantRoute?
    private let now: @Sendable () -> Timestamp
    private let fieldRules: ResourceFields
    private let relay = WakeRelay()
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
    /// - Parameter manifests: The memory about manifests, whose references lead through the proxy.
    init(
        exchange: Exchange, cache: MediaCache, query: ResourceQuery, manifests: ManifestDoor, fields: ResourceFields,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.exchange = exchange
        self.cache = cache
        self.query = query
        self.manifests = manifests
        self.now = now
        fieldRules = fields
        options = query.options(isSite: fields.isSite)
        if let key = query.key, !query.isForProgram {
            manifest = ManifestReading(
                door: manifests, url: query.url.text, key: key, request: exchange.request, client: exchange.client
            ) { [relay] in relay.wake() }
            manifest?.adjust(&options)
        }
        // The tag of a rewritten manifest is the proxy's own.
        let tags = manifest?.isExpected == true ? [] : Precondition.tags(of: exchange.request.fields)
        if let key = query.key, let client = query.client { route = VariantRoute(client, to: key, ownTags: tags) }
    }

    private var range: RangeHeader? { query.range }
    private var isHead: Bool { query.isHead }

    private var onlyStored: Bool { options.mode == .onlyStored }

    /// Begins. The response comes now or later.
    func begin() {
        // The relay keeps this object alive until the response, or until the client leaves.
        let (box, loop) = (LoopConfined(self), exchange.loop)
        relay.set { loop.post { box.value.proceed() } }
        exchange.onClose {
            self.isAnswered = true
            self.leave()
        }
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
        let needsAll = readsWhole || manifest?.isExpected == true
        let (start, end, wantsBytes) = isSecondLook ? (0, nil, false) : needsAll ? (0, nil, true) : query.wish
        owesWish = wantsBytes && isLooking
        var options = options
        options.client = route?.client
        if route?.isApart == true { options.mode = .doNotStore }
        do {
            reader = try cache.sessionReader(
                for: query.url, key: route?.key ?? query.key, start: start, end: end, wantsBytes: wantsBytes && !isLooking,
                options: options, wake: { [relay] in relay.wake() })
        } catch {
            return fail(error)
        }
        proceed()
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
        let (box, loop) = (LoopConfined(self), exchange.loop)
        cache.variants.find(of: route.base, for: route.client) { found in loop.post { box.value.found(found) } }
    }

    private func found(_ result: Result<VariantChoice, CacheError>) {
        guard !isAnswered else { return }
        switch result {
        case .failure(let error): fail(error)
        case .success(let choice):
            guard route?.isApart != true else {
                return fail(CacheError(.removed, "the resource's variants change too often; ask again", key: query.key))
            }
            guard route?.found(choice, onlyStored: onlyStored) == true else {
                return fail(CacheError(.notStored, "no stored variant answers the request, and it asks for stored ones", key: query.key))
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
            if !representation.isContent { manifests.childFailed(query.url.text, status: representation.status) }
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
        if honoursRange, !reader.readsPage, representation.length == nil, let part = query.part(of: reader.servedPart) {
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
        send(200, fields(representation, coverage), from: reader, length: representation.length)
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
        let hasNoContent = StatusRules.hasNoContent(representation.status)
        guard isHead || hasNoContent else { return send(representation.status, fields, from: reader, length: representation.length) }
        reader.markTold()
        fields[.contentLength] = hasNoContent ? nil : representation.length.map(String.init)
        answer(Response(representation.status, fields: fields))
    }

    private func answerPart(
        _ reader: SessionReader, _ generation: GenerationID, _ representation: Representation, _ range: ByteRange, _ length: StatedLength
    ) {
        guard let coverage = coverageIfReady(reader, generation, [range]) else { return }
        var fields = fields(representation, coverage)
        fields[.contentRange] = ContentRange.part(range, length: length).fieldValue
        send(206, fields, from: reader, length: range.count)
    }

    /// Answers several ranges. Each part has a reader of its own, which joins when its turn comes
    /// (RFC 9110 §14.6).
    private func answerParts(
        _ reader: SessionReader, _ generation: GenerationID, _ representation: Representation, _ ranges: [ByteRange], _ length: Int64
    ) {
        guard let coverage = coverageIfReady(reader, generation, ranges) else { return }
        var fields = fields(representation, coverage)
        let storesNothing = options.mode == .doNotStore || route?.isApart == true
        let parts = ranges.map { [cache, url = query.url, options, key = reader.key] range in
            MultipartByteRanges.Part(range) {
                PartBodySource(
                    cache: cache, url: url, key: key, page: options.site, range: range, generation: generation,
                    storesNothing: storesNothing)
            }
        }
        // 128 random bits cannot occur in the parts.
        let boundary = "spool-" + cache.environment.random.word()
        let multipart = MultipartByteRanges(parts: parts, partType: representation.contentType, total: length, boundary: boundary)
        fields[.contentType] = multipart.contentType
        reader.markTold()
        answer(Response(206, fields: fields, body: .source(multipart, length: multipart.length)))
        leave()
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
        return manifests.edge(of: query.url.text) != nil && reader.foundVersion && !reader.wasValidated ? .conditional : nil
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

    /// Answers with the bytes of the reader from its position on.
    private func send(_ status: Int, _ fields: HTTPFields, from reader: SessionReader, length: Int64?) {
        let source = SessionBodySource(reader: reader, relay: relay, beginsInMemory: beginsInMemory)
        reader.markTold()
        answer(Response(status, fields: fields, body: .source(source, length: length)))
    }

    private func fields(_ representation: Representation, _ coverage: SessionReader.Coverage) -> HTTPFields {
        AnswerFields(query: query, rules: fieldRules, manifests: manifests, now: now())
            .content(of: representation, coverage, by: reader, isForced: options.request.noCache != nil, for: exchange.request)
    }

    // MARK: Errors and the end

    private func fail(_ error: CacheError) {
        if error.code == .rangeNotSatisfiable { return rangeFailed(error) }
        if let reader, let step = route?.step(after: error, of: reader) { return take(step) }
        if case .status(304, let fields)? = error.cause as? OriginError, route?.offersOwnTags == true { return answerNotModified(fields) }
        let status = error.statusForClient
        if !error.isRefusal { manifests.childFailed(query.url.text, status: status) }
        var fields = error.fields
        if case .notAsked(let target, _)? = error.cause as? OriginError,
            query.mayAskItself(for: target, isOfOthers: exchange.isFromNetwork || cache.configuration.freshness.isShared)
        {
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

    private func leave() {
        relay.clear()
        reader?.leave()
        reader = nil
    }
}
