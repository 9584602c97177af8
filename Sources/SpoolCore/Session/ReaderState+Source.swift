// The body that a reader's bytes come from.

extension ReaderState {
    /// The body that a reader's bytes come from.
    package enum Source: Hashable, Sendable {
        /// The current version if responses of it can be combined; else not decided since the
        /// reader came or moved.
        case undecided
        /// The one response that the version consists of.
        case version
        /// A response for this reader alone, whose head has not come.
        case awaited(FetchID)
        /// A body beside the current version (`SessionState.bodies`).
        case body(GenerationID)
        /// The version that `prepare` returned and that was replaced since. The reader goes on with
        /// it if its consumer commits to it now, and prepares again otherwise.
        case replaced(GenerationID)
    }

    /// Whether the reader takes no byte of the current version: it reads a body beside it, or
    /// awaits one.
    package var isApart: Bool {
        switch source {
        case .awaited, .body, .replaced: true
        case .undecided, .version: false
        }
    }

    /// The body beside the current version that it reads, or may still commit to.
    var generationApart: GenerationID? {
        switch source {
        case .body(let generation), .replaced(let generation): generation
        case .undecided, .version, .awaited: nil
        }
    }

    /// Frees a reader that calls again and has not committed to the version that was replaced.
    mutating func dropReplaced() {
        if case .replaced = source { source = .undecided }
    }

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

    /// Whether it waits for a version as `other` does, with the same request.
    func waits(like other: ReaderState) -> Bool {
        waitsFor != .nothing && failure == nil && told == nil && source == .undecided && !onlyStored && asks == other.asks
            && site == other.site && (position, end, suffix) == (other.position, other.end, other.suffix)
    }

    /// Gives the reader the body of a response. One that has committed to another response gets it
    /// only if its length and type are equal, and fails otherwise.
    ///
    /// - Parameters:
    ///   - representation: The statement of the response, which may differ from the version.
    ///   - source: The place of the body.
    mutating func take(_ body: SessionVersion, as representation: Representation, from source: Source) {
        guard isAsTold(representation) else { return failure = .origin(.representationChanged) }
        bind(to: source)
        if case .told(_, let told) = commitment {
            commitment = .told(body.generation, as: body.isCombinable && !isApart ? nil : told)
        }
        guard isApart else { return }
        if awaitsAnswer { validation = .unchecked }
        if told == nil { awaitedVersion = true }
    }
}
