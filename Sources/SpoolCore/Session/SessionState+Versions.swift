// Changes of the version, and the readers that they concern.

extension SessionState {
    /// Makes `representation` the current version.
    ///
    /// Wakes only the readers that have prepared for the old version and wait for bytes. The caller
    /// wakes the others once it has set up what the fetch brings.
    mutating func replaceVersion(by representation: Representation, _ head: ReceivedHead, _ fetch: FetchState) -> [SessionAction] {
        let before = version
        let old = ledger.replace(by: representation, head, fetch)
        recheckSites()
        if old != nil || head.passReason != nil { goal = nil }
        let woken = versionReplaced(before)
        let ended = cancelFetches { $0.id != fetch.id && !$0.isOwn }
        forgetRetiredFetches()
        var actions: [SessionAction] = ended + [.versionChanged(from: old, to: head.newGeneration)]
        BodiesApart.limitFiles(of: &self)
        if let reason = version?.passReason { actions.append(.passing(reason)) }
        return actions + woken
    }

    /// Stops serving the current version. The readers that have committed to it go on with it as a
    /// past version, and its other fetches end.
    mutating func forgetVersion() -> [SessionAction] {
        let before = version
        ledger.version = nil
        let woken = versionReplaced(before)
        let ended = cancelFetches { !$0.isOwn }
        forgetRetiredFetches()
        return ended + woken + wakeReaders()
    }

    /// Stops serving the version until a response of the origin with bytes takes its place, because
    /// the origin contradicted it once.
    ///
    /// Its index entry stays. A session that opens it later may find that the contradiction was
    /// temporary. After more than `OriginRecord.mostContradictions` the readers fail.
    mutating func suspendVersion() -> [SessionAction] {
        guard let version else { return [] }
        origin.contradictions += 1
        if origin.contradictions > OriginRecord.mostContradictions { failReaders(from: 0, .representationChanged) }
        ledger.replacesDownload = ledger.replacesDownload || ledger.isFinishedDownload
        return [.forgotten(version.generation)] + forgetVersion()
    }

    /// Sets the length of the current version, and ends or clips the fetches beyond it.
    ///
    /// - Parameter byClose: whether the end of a connection shows it. A second such body confirms
    ///   it.
    mutating func learn(_ length: Int64, byClose: Bool = false) -> [SessionAction] {
        ledger.version?.representation.length = length
        ledger.version?.representation.endsByClose = byClose && ledger.doubtedEnd != length
        let actions = cancelFetches { !$0.isOwn && $0.start >= length && $0.front >= length }
        for index in fetches.indices where !fetches[index].isOwn { fetches[index].upper = min(fetches[index].upper ?? length, length) }
        return [.representationUpdated] + actions
    }

    /// Updates the representation with the fields of this response.
    mutating func takeOverFields(_ head: ReceivedHead, _ fetch: FetchState) -> [SessionAction] {
        ledger.takeOverFields(head, fetch)
        recheckSites()
        return [.representationUpdated]
    }

    /// Removes the drained memory of fetches of other versions: it is neither stored nor waited
    /// for.
    mutating func forgetRetiredFetches() {
        let generation = version?.generation
        fetches.removeAll { !$0.isOwn && $0.isDraining && $0.generation != generation }
    }

    /// Lets readers that have not committed yet check the version again if its response was for
    /// another site.
    private mutating func recheckSites() {
        guard let version else { return }
        for index in readers.indices where readers[index].told == nil {
            guard case .trusts = readers[index].validation else { continue }
            if ledger.siteSelection(of: version, forSite: readers[index].site) != .matches { readers[index].validation = .unchecked }
        }
    }

    /// Lets the readers that have committed to `before` go on with it, and wakes the others to
    /// prepare again.
    private mutating func versionReplaced(_ before: SessionVersion?) -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in readers.indices where readers[index].failure == nil && !readers[index].isApart {
            if let version, readers[index].mayChange(to: version) {
                readers[index].take(version, as: version.representation, from: .undecided)
            }
            if let told = readers[index].told {
                if told == version?.generation { continue }
                if told == before?.generation {
                    readers[index].bind(to: .body(told))
                } else {
                    readers[index].failure = .origin(.representationChanged)
                }
                continue
            }
            readers[index].awaitedVersion = true
            guard readers[index].isOutdated(by: version) else { continue }
            if readers[index].waitsFor == .bytes {
                readers[index].waitsFor = .nothing
                readers[index].commitment = .none
                actions.append(.wake(readers[index].id))
            } else if let before, readers[index].waitsFor == .nothing, readers[index].commitment == .prepared(before.generation) {
                readers[index].bind(to: .replaced(before.generation))
            }
        }
        if let before, readers.contains(where: { $0.generationApart == before.generation }) { BodiesApart.setAside(before, in: &self) }
        return actions
    }

    // MARK: Use by readers

    /// Whether the reader may use the current version.
    ///
    /// If it may not, either the reader has failed, or it waits and the origin is asked. The
    /// decision is made once for each reader: a reader that has committed to a version goes on with
    /// it.
    mutating func mayUse(_ index: Int, wallNow: Timestamp, now: MonotonicInstant) -> Bool {
        guard let version else { return false }
        let reader = readers[index]
        if reader.told != nil || reader.validation == .trusts(version.generation) { return true }
        if ledger.isSettled(for: reader) { return trust(index) }
        guard !reader.awaitsAnswer else { return false }
        let selection = ledger.selection(of: version, for: reader.asks.value.fields, site: reader.site)
        let use = selection == .matches ? PlayRecord.use(of: version, by: reader, &self, wallNow: wallNow, now: now) : .revalidate
        switch use {
        case .use:
            guard GapQuestion.isDue(for: reader, self, now: now) else { return trust(index) }
            readers[index].validation = .awaitsGap
            readers[index].questionEnds = now + limits.gapPatience
            return false
        case .useAndRevalidate:
            ledger.owesRevalidation = true
            return trust(index)
        case .confirm, .confirmForPlay, .revalidate:
            let mayDoWithout = selection != .differs && reader.rules.mayUseUnvalidated(version.representation, now: wallNow)
            // A reader of stored bytes only may not cause a request, and during back-off no other
            // reader causes one. Both use the version unconfirmed if their rules permit it.
            if mayDoWithout, reader.onlyStored || !backOff.mayTry(now: now) { return trust(index) }
            if reader.onlyStored { readers[index].failure = .notStored }
            readers[index].validation = .awaitsOrigin(mayDoWithout: mayDoWithout)
            if use != .revalidate, mayDoWithout, let wait = reader.rules.longestQuestion { readers[index].questionEnds = now + wait }
            readers[index].awaitedOrigin = true
            return false
        }
    }

    /// Lets the reader use the current version.
    /// - Returns: true.
    @discardableResult
    mutating func trust(_ index: Int) -> Bool {
        guard let version else { return true }
        readers[index].validation = .trusts(version.generation)
        // Bytes that were relayed for a reader with `.doNotStore` may be stored for this one.
        if version.passReason == .byRequest, !readers[index].storesNothing {
            ledger.version?.passReason = nil
            ledger.owesUpdate = true
        }
        return true
    }
}
