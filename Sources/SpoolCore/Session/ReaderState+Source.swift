// The source of a reader's bytes. It matters while the version has no strong validator.

extension ReaderState {
    /// The source of a reader's bytes while the version can't be combined with other responses.
    package enum Source: Hashable, Sendable {
        /// Not decided since the reader came or moved.
        case undecided
        /// The one response that the version consists of.
        case version
        /// A response for this reader alone; nil before its head.
        indirect case own(FetchID, OwnResponse?)
        /// A version that was replaced after the consumer had committed to it
        /// (`SessionState.past`).
        indirect case past(OwnResponse)
    }

    /// The head of a response that does not make the current version.
    package struct OwnResponse: Hashable, Sendable {
        /// The generation that names this response.
        package var generation: GenerationID
        /// The length, type and validator of this response.
        package var representation: Representation
        /// The cookies that it sets.
        var cookies: [String] = []
        /// Whether it is a page that came instead of media. The whole page is passed on, whatever
        /// range was requested.
        package var isPage = false
    }

    /// Whether the reader takes no byte of the current version: it has or awaits a response of its
    /// own, or reads a past version.
    package var isApart: Bool {
        switch source {
        case .own, .past: true
        case .undecided, .version: false
        }
    }

    /// The response that a reader apart reads; nil before its head.
    var ownResponse: OwnResponse? {
        switch source {
        case .own(_, let response): response
        case .past(let response): response
        case .undecided, .version: nil
        }
    }

    /// The past version that it reads, or nil if it reads none.
    var pastGeneration: GenerationID? { if case .past(let response) = source { response.generation } else { nil } }

    /// Whether it is bound to the response of this fetch.
    func isBound(to id: FetchID) -> Bool { if case .own(id, _) = source { true } else { false } }

    /// Sets the source from the present position on.
    mutating func bind(to source: Source) {
        self.source = source
        boundAt = position
    }

    /// Frees the reader from its response. The reader fails if the version has changed and can be
    /// combined, because then no response of its own would follow.
    mutating func unbind(_ version: SessionVersion?) {
        source = .undecided
        guard let version, version.isCombinable, failure == nil, isNews(version) else { return }
        failure = .origin(.representationChanged)
    }

    /// Binds the reader to the version as it is now. If another response replaces that version, the
    /// reader ends.
    mutating func bindToVersion(_ version: SessionVersion?) {
        if version?.isCombinable == false, source == .undecided { bind(to: .version) }
    }

    /// Lets a reader whose own response turned out to be of a combinable version read that version.
    mutating func takeCombinable(_ candidate: Representation, _ generation: GenerationID) {
        guard isAsTold(candidate) else { return failure = .origin(.representationChanged) }
        source = .undecided
        if told != nil { commitment = .told(generation, as: nil) }
    }

    /// Binds the reader to the version that its response has become.
    mutating func takeVersion(_ candidate: Representation, _ generation: GenerationID) {
        guard isAsTold(candidate) else { return failure = .origin(.representationChanged) }
        recommit(to: generation)
        bind(to: .version)
    }

    /// Binds the reader to its own response.
    mutating func takeResponse(_ response: OwnResponse, _ id: FetchID) {
        guard isAsTold(response.representation) else { return failure = .origin(.representationChanged) }
        recommit(to: response.generation)
        if awaitsOrigin { validation = .unchecked }
        if told == nil { awaitedVersion = true }
        bind(to: .own(id, response))
    }

    /// Sets the length of the response of a reader apart, which its end has shown.
    mutating func learnOwnLength(_ length: Int64) {
        guard var response = ownResponse, response.representation.length == nil else { return }
        response.representation.length = length
        if case .own(let id, _) = source { source = .own(id, response) } else { source = .past(response) }
    }

    /// Lets the reader go on with the version that it has committed to, although another one takes
    /// its place.
    mutating func stay(with version: SessionVersion) {
        bind(to: .past(OwnResponse(generation: version.generation, representation: version.representation)))
    }

    /// Removes and returns the cookies of the reader's own response; nil if it has none.
    mutating func takeCookies() -> [String]? {
        guard case .own(let id, var response?) = source else { return nil }
        defer {
            response.cookies = []
            source = .own(id, response)
        }
        return response.cookies
    }
}
