public import SpoolCore
import SpoolManifests
import SpoolOrigin
import SpoolSystem

/// Fetches the beginning of a resource or of an HLS or DASH presentation before a player asks for
/// it.
///
/// A preload shares its origin requests with the readers of the same resource, and fetches no
/// stored bytes. It yields to players: see <doc:Preloading>. Releasing the object cancels it, and
/// bytes that arrived stay stored. Safe to use from any thread.
public final class Preload: Sendable {
    /// The key of the resource, or of the manifest of a presentation.
    public let key: ResourceKey

    /// The kinds of resources that a preload takes.
    enum Subject: Hashable, Sendable {
        /// Any resource. A manifest leads to the parts of its presentation.
        case any
        /// Any resource. A manifest is a resource like any other.
        case resource
        /// A presentation, of which every manifest and part must be stored. Stored parts are
        /// skipped, and all of them are pinned if the manifest is.
        case presentation
    }

    private struct State {
        var isPaused = false
        var holds: Set<PreloadHold> = []
        /// The resources to read now, by their number in the plan.
        var items: [Int: (item: PresentationPlan.Item, key: ResourceKey)] = [:]
        /// The resources that are being read: all of `items`, or none while it is held.
        var running: [Int: ResourcePreload] = [:]
        /// The plan of a presentation, once the resource is known to be one.
        var plan: PresentationPlan?
        var progress: PreloadProgress?
        /// Whether the parts are pinned, because the manifest is.
        var isPinning = false
        /// Whether the manifests were asked for again, because a part was refused.
        var hasReloaded = false
        /// A number that grows when everything begins anew. Answers of earlier rounds are ignored.
        var round = 0
        var result: Result<PreloadResult, CacheError>?
        var waiting: [Completion<PreloadResult>] = []
        /// The protection of what a window keeps.
        var pins: [ResourceKey: TemporaryPin] = [:]
        var followers: [Follower] = []
    }

    private struct Follower {
        let came: @Sendable (PreloadProgress) -> Void
        let end: @Sendable () -> Void
    }

    /// The answers of an origin after which the manifests are asked for again: the signatures in
    /// them may have expired.
    private static let expired = [401, 403, 404, 410]

    private let url: String
    private let amount: PreloadAmount
    private let selection: PresentationSelection
    private let settings: ResourcePreload.Settings
    private let state = Locked(State())

    init(
        url: String, key: ResourceKey, amount: PreloadAmount, selection: PresentationSelection, settings: ResourcePreload.Settings
    ) {
        self.url = url
        self.key = key
        self.amount = amount
        self.selection = selection
        self.settings = settings
    }

    deinit {
        settings.cache.engine.preloads.leave(ObjectIdentifier(self))
        let (running, followers) = state.withLock { ($0.running, $0.followers) }
        for part in running.values { part.cancel() }
        for follower in followers { follower.end() }
    }

    // MARK: Control

    /// The progress from now on, newest first if the consumer is slow. Ends with the preload.
    public var progress: AsyncStream<PreloadProgress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            follow({ continuation.yield($0) }, end: { continuation.finish() })
        }
    }

    /// Calls `body` with the present progress and each later one, and `end` after the last one, on
    /// any thread.
    package func follow(_ body: @escaping @Sendable (PreloadProgress) -> Void, end: @escaping @Sendable () -> Void = {}) {
        let (isOver, progress) = state.withLock { state in
            if state.result == nil { state.followers.append(Follower(came: body, end: end)) }
            return (state.result != nil, state.progress)
        }
        if let progress { body(progress) }
        if isOver { end() }
    }

    /// Waits until the planned bytes are stored. Cancelling the waiting task cancels the preload.
    ///
    /// - Throws: The error that prevents it: those of ``ByteReader``; `.noRoom` when the store has
    ///   no room for the bytes; `.notStored` for a resource that must not be stored;
    ///   `.unsupportedURL` for a live stream and for a broken manifest; `.cancelled` after
    ///   `cancel()`.
    @discardableResult
    public func result() async throws(CacheError) -> PreloadResult {
        try await Spool.result(onCancel: { self.cancel() }, whenOver)
    }

    /// The progress of this moment, or nil before there is any.
    package var currentProgress: PreloadProgress? { state.withLock { $0.progress } }

    /// Calls `body` with the result, now or when there is one, on any thread.
    package func whenOver(_ body: @escaping Completion<PreloadResult>) {
        let known = state.withLock { state in
            if state.result == nil { state.waiting.append(body) }
            return state.result
        }
        if let known { body(known) }
    }

    /// Stops the preload. Bytes that arrived stay stored.
    public func cancel() { end(.failure(CacheError(.cancelled, "the preload was cancelled", key: key))) }

    /// Pauses the preload, and with it its origin requests, until `resume()`.
    public func pause() { settings.mailbox.post { [weak self] in self?.setPaused(true) } }

    /// Ends a pause.
    public func resume() { settings.mailbox.post { [weak self] in self?.setPaused(false) } }

    package func hold(_ hold: PreloadHold) {
        let running = state.withLock { state in
            state.holds.insert(hold)
            defer { state.running = [:] }
            return state.running.values
        }
        for part in running { part.cancel() }
    }

    package func release(_ hold: PreloadHold) {
        let items = state.withLock { state in state.holds.remove(hold) != nil && state.holds.isEmpty ? state.items : [:] }
        for (number, part) in items.sorted(by: { $0.key < $1.key }) { read(part.item, number: number, key: part.key) }
    }

    private func setPaused(_ isPaused: Bool) {
        let running = state.withLock { state in
            state.isPaused = isPaused
            return state.running.values.sorted { $0.key < $1.key }
        }
        for part in running { part.setPaused(isPaused) }
    }

    // MARK: Fetching

    /// Begins with the resource of the URL.
    func begin() {
        settings.cache.engine.preloads.enter(self)
        let goal: ResourcePreload.Goal =
            switch settings.subject {
            case .any: .beginning(amount)
            case .resource: .part(amount)
            case .presentation: .manifest
            }
        read(PresentationPlan.Item(url: url, goal: goal), number: PresentationPlan.rootNumber, key: key)
    }

    /// Whether a part is at the manifest's origin, which alone gets the manifest's fields.
    private func isOfSameOrigin(_ part: String) -> Bool {
        // A URL that cannot be parsed is never asked.
        do { return try MediaURL(part).origin == MediaURL(url).origin } catch { return false }
    }

    /// Reads one resource.
    private func read(_ item: PresentationPlan.Item, number: Int, key: ResourceKey) {
        let (round, isReload, isPinning) = state.withLock { ($0.round, $0.hasReloaded, $0.isPinning) }
        var settings = settings
        settings.isPinning = isPinning
        if number != PresentationPlan.rootNumber { settings.download?.sha256 = nil }
        if !isOfSameOrigin(item.url) { settings.options.requestFields = [:] }
        switch item.goal {
        case .beginning, .manifest: if isReload { settings.options.mode = .reload }
        case .part, .range: break
        }
        let part = ResourcePreload(
            url: item.url, key: key, goal: item.goal, settings: settings,
            report: { [weak self] progress in self?.reported(progress, number, round) },
            done: { [weak self] result in
                let isPart = number != PresentationPlan.rootNumber
                self?.finished(number, isPart ? result.mapError { $0.naming(item.url) } : result, round)
            })
        let isPaused = state.withLock { state -> Bool? in
            guard state.result == nil, state.round == round else { return nil }
            state.items[number] = (item, key)
            guard state.holds.isEmpty else { return nil }
            state.running[number] = part
            if settings.protects, state.pins[key] == nil { state.pins[key] = settings.cache.engine.temporaryPin(of: key) }
            return state.isPaused
        }
        guard let isPaused else { return }
        if isPaused { part.setPaused(true) }
        part.begin()
    }

    private func reported(_ progress: PreloadProgress, _ number: Int, _ round: Int) {
        publish { state in
            guard state.round == round else { return nil }
            state.plan?.progressed(number, progress)
            return state.plan?.progress ?? progress
        }
    }

    private func publish(_ change: (inout State) -> PreloadProgress?) {
        let (followers, progress) = state.withLock { state in
            let progress = change(&state)
            if let progress { state.progress = progress }
            return (state.followers, progress)
        }
        guard let progress else { return }
        for follower in followers { follower.came(progress) }
    }

    private func finished(_ number: Int, _ result: Result<ResourcePreload.Outcome, CacheError>, _ round: Int) {
        let isCurrent = state.withLock { state in
            guard state.result == nil, state.round == round else { return false }
            (state.running[number], state.items[number]) = (nil, nil)
            return true
        }
        guard isCurrent else { return }
        switch result {
        case .failure(let error): failed(error, number)
        case .success(let outcome):
            guard settings.subject == .presentation, number == PresentationPlan.rootNumber else { return arrived(outcome, number) }
            // The index has the pin of a manifest whose bytes it has.
            let (cache, key, mailbox) = (settings.cache, key, settings.mailbox)
            cache.enterReceived { [weak self] _ in
                cache.status(of: key) { [weak self] found in
                    mailbox.post { [weak self] in self?.arrived(outcome, manifest: found) }
                }
            }
        }
    }

    private func arrived(_ outcome: ResourcePreload.Outcome, manifest found: Result<ResourceStatus?, CacheError>) {
        do throws(CacheError) {
            let isPinned = try found.get()?.isPinned == true
            state.withLock { $0.isPinning = isPinned }
            arrived(outcome, PresentationPlan.rootNumber)
        } catch {
            end(.failure(error))
        }
    }

    private func arrived(_ outcome: ResourcePreload.Outcome, _ number: Int) {
        do throws(CacheError) {
            let outline = try outline(of: outcome)
            if number == PresentationPlan.rootNumber {
                // JSON and XML have other uses, too. Such a document was read as a whole.
                guard outline != nil || settings.subject == .presentation else { return end(.success(outcome.result)) }
                let choose = settings.cache.configuration.fetching.chooseVariant
                let plan = PresentationPlan(url: url, amount: amount, selection: selection, choose: choose)
                state.withLock { $0.plan = plan }
            }
            let steps = try next(number, outcome, outline)
            publish { $0.plan?.progress }
            for step in steps { read(step.item, number: step.number, key: try key(of: step.item)) }
            if steps.isEmpty { endIfDone() }
        } catch {
            end(.failure(error))
        }
    }

    private func key(of item: PresentationPlan.Item) throws(CacheError) -> ResourceKey {
        let part = try MediaURL(cachable: item.url)
        if let manifest = item.namedBy { try ReferenceTrust(of: settings.cache).check(part, namedBy: manifest) }
        return settings.cache.readingKey(for: part, chosen: nil)
    }

    private func next(
        _ number: Int, _ outcome: ResourcePreload.Outcome, _ outline: StreamOutline?
    ) throws(CacheError) -> [PresentationPlan.Step] {
        try state.withLock { (state) throws(CacheError) in
            try state.plan?.finished(number, outcome.result, outline, at: outcome.manifest?.url) ?? []
        }
    }

    /// Reads the manifest, if the resource is one.
    private func outline(of outcome: ResourcePreload.Outcome) throws(CacheError) -> StreamOutline? {
        guard let manifest = outcome.manifest else { return nil }
        let variables = state.withLock { $0.plan?.variables ?? [:] }
        do throws(ParseError) {
            let formats = settings.cache.configuration.manifestFormats
            let outline = try StreamOutline.read(manifest.bytes, at: manifest.url, variables: variables, formats: formats)
            // Its manifest alone would pass for the whole film.
            if outline != nil || !formats.isEmpty || !ManifestReader.beginsAsMPD(manifest.bytes) { return outline }
        } catch {
            throw CacheError(.unsupportedURL, "\(manifest.url) is a broken manifest: \(error)", cause: error)
        }
        throw CacheError(.configuration, "\(manifest.url) is a DASH manifest; import SpoolDASH and set Configuration.readsDASH")
    }

    private func failed(_ error: CacheError, _ number: Int) {
        let isPart = state.withLock { $0.plan != nil }
        guard isPart, let status = error.status, Self.expired.contains(status) else { return end(.failure(error)) }
        let running = state.withLock { state -> [ResourcePreload]? in
            guard !state.hasReloaded else { return nil }
            defer { (state.hasReloaded, state.plan, state.running, state.items) = (true, nil, [:], [:]) }
            state.round += 1
            return Array(state.running.values)
        }
        guard let running else { return end(.failure(error)) }
        for part in running { part.cancel() }
        begin()
    }

    // MARK: Ending

    private func endIfDone() {
        let result = state.withLock { state -> PreloadResult? in
            guard state.items.isEmpty, let plan = state.plan, plan.isDone else { return nil }
            return plan.result(for: key)
        }
        if let result { end(.success(result)) }
    }

    private func end(_ result: Result<PreloadResult, CacheError>) {
        let (running, waiting, followers) = state.withLock { state in
            if state.result == nil { state.result = result }
            defer { (state.running, state.items, state.waiting, state.followers) = ([:], [:], [], []) }
            return (state.running, state.waiting, state.followers)
        }
        settings.cache.engine.preloads.leave(ObjectIdentifier(self))
        for part in running.values { part.cancel() }
        for follower in followers { follower.end() }
        // Callers wait only before the first result, so this is the first.
        for body in waiting { body(result) }
    }
}

extension Preload: EnginePreload {}
