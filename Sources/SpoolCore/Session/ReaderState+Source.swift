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
    }

    /// The head of a response that belongs to one reader.
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

    /// Whether the reader has or awaits a response of its own.
    package var isApart: Bool { if case .own = source { true } else { false } }

    /// The reader's own response; nil if it has none, or before its head.
    var ownResponse: OwnResponse? { if case .own(_, let response) = source { response } else { nil } }

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

    /// Sets the length of the reader's own response, which its end has shown.
    mutating func learnOwnLength(_ length: Int64) {
        guard case .own(let id, var response?) = source, response.representation.length == nil else { return }
        response.representation.length = length
        source = .own(id, response)
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
