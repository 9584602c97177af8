// Temporary errors that look like responses. The machine never adopts them as a version and never
// deletes stored bytes because of them.

extension SessionStateMachine {
    /// The number of pages in a row, instead of media, after which an event informs the user.
    static var pagesBeforeNotice: Int { 3 }

    /// The error of a page that comes where media are known to be.
    /// - Returns: nil if the response may be of a version.
    func contradiction(of outcome: ResponseOutcome, _ head: ResponseHead, _ fetch: Fetch) -> OriginError? {
        guard let version, let page = rules.page(head.fields), expectsMedia(version) else { return nil }
        switch outcome {
        case .full: break
        case .partial:
            // A part with the stored strong entity tag is of the stored version, whatever its
            // `Content-Type` is.
            let validator = Validator(fields: head.fields)
            if validator.isStrong, validator == version.representation.validator { return nil }
        case .notModified, .notSatisfiable, .failed: return nil
        }
        return .malformed("a page of type \(page) came instead of media; is there a sign-in in between?")
    }

    /// Whether the version is stored and consists of media.
    private func expectsMedia(_ version: Version) -> Bool {
        version.passReason == nil && (rules.expectsMedia || version.representation.isMedia)
    }

    /// Passes a page on to the reader that asked, if it has no byte yet, as a page would come
    /// without a cache. For all other readers the fetch has failed.
    mutating func contradicted(
        _ index: Int, by error: OriginError, _ outcome: ResponseOutcome, _ arrival: Arrival, now: MonotonicInstant
    ) -> [SessionAction] {
        let fetch = fetches[index]
        pagesInARow += 1
        var actions: [SessionAction] = []
        if pagesInARow == Self.pagesBeforeNotice, let page = rules.page(arrival.head.fields) {
            actions.append(.passing(.unexpectedType(page)))
        }
        let asker = readers.firstIndex { reader in
            reader.id == fetch.askedBy && reader.failure == nil && reader.told == nil
                && !(reader.awaitsOrigin && reader.mayDoWithoutOrigin)
        }
        guard let asker, case .full = outcome else {
            return actions + finished(fetch.id, error: error, now: now) + [.cancel(fetch.id)]
        }
        let length = outcome.length
        fetches[index].isOwn = true
        fetches[index].isRelay = true
        fetches[index].ownGeneration = arrival.newGeneration
        fetches[index].generation = arrival.newGeneration
        fetches[index].phase = .receiving
        fetches[index].front = 0
        fetches[index].released = 0
        fetches[index].upper = length
        fetches[index].servedEnd = length
        readers[asker].position = 0
        readers[asker].end = nil
        var response = OwnResponse(generation: arrival.newGeneration, representation: arrival.representation(length: length))
        response.isPage = true
        takeResponse(asker, response, fetch.id)
        return actions + wakeReaders() + replan(now: now)
    }

    /// Ends a response without a strong validator that is too short for its reader, if another
    /// request may bring the whole range at once.
    ///
    /// No second response may continue it in the same answer. The next request therefore leaves out
    /// the window that cut the response short, or names no range at all. Readers that have already
    /// committed go on with the short response.
    /// - Returns: whether the response was too short and is to be ended.
    mutating func isTooShort(_ fetch: Fetch, served: ByteRange, total: Int64?, _ arrival: Arrival) -> Bool {
        let identity = version?.identity ?? rules.identity
        guard !arrival.isEndless, identity == .validator, !Validator(fields: arrival.head.fields).isStrong,
            let asker = readers.firstIndex(where: { $0.id == fetch.askedBy && $0.told == nil && $0.failure == nil }),
            served.upperBound < min(readers[asker].end ?? .max, total ?? .max)
        else { return false }
        if let upper = fetch.upper, upper - fetch.start == limits.requestBytes, served.upperBound == upper, !asksOpenEnded {
            asksOpenEnded = true
        } else if fetch.start == 0, total != nil, fetch.upper == nil, !asksPlainly {
            asksPlainly = true
        } else {
            return false
        }
        for index in readers.indices where isApart(readers[index]) && draws(readers[index], from: fetch) {
            readers[index].source = .undecided
        }
        return true
    }
}

extension Representation {
    /// Whether the media type is audio, video or a playlist, or one that servers commonly send for
    /// them.
    fileprivate var isMedia: Bool {
        guard let type = contentType.flatMap(MediaType.init) else { return false }
        let essence = type.essence
        return essence.hasPrefix("audio/") || essence.hasPrefix("video/") || isPlaylist
            || ["application/ogg", "application/mp4", "application/octet-stream", "binary/octet-stream"].contains(essence)
    }
}
