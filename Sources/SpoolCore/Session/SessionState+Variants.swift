// Variants: whether the current version answers the requests of a door's clients. Each variant of a
// resource has a session of its own, so that a session knows one version.

extension SessionState {
    /// Returns the current version without using it: no freshness is checked, and no request is
    /// caused.
    ///
    /// If it turns out that none is stored, the reader waits for one like any other.
    mutating func look(_ index: Int, wantsBytes: Bool) -> SessionStateMachine.Look {
        if readers[index].isApart { return .unknown }
        switch phase {
        case .new, .opening:
            readers[index].waitsFor = .version
            readers[index].wantsBytesIfUnknown = wantsBytes
            return .wait
        case .ready:
            return version.map { .version($0.representation) } ?? .unknown
        case .ended:
            return .unknown
        }
    }

    /// Makes the readers wait for the version that a request discovers, because none is stored.
    mutating func awaitDiscovery() {
        for index in readers.indices {
            readers[index].awaitedVersion = true
            guard readers[index].wantsBytesIfUnknown else { continue }
            readers[index].wantsBytes = true
            readers[index].preparesWithFirstByte = true
        }
    }
}

extension VersionLedger {
    /// Changes the mark of the current version.
    mutating func changeMark(_ change: (inout VariantMark) -> Void) -> [SessionAction] {
        guard var mark = version?.representation.mark else { return [] }
        change(&mark)
        guard mark != version?.representation.mark else { return [] }
        version?.representation.mark = mark
        return [.representationUpdated]
    }

    /// Whether an error of the origin about the resource concerns every user of it.
    ///
    /// An origin may refuse a resource to one user, or hide it from a client without credentials.
    func holdsForEverybody(_ fetch: FetchState) -> Bool {
        !fetch.isForOneUser && version?.representation.mark?.users.isEmpty != false
    }

    /// Whether the error of a revalidation is about the version: the origin has the resource no more.
    /// A finished download stays.
    func isRefused(by error: OriginError, to fetch: FetchState) -> Bool {
        error.isGone && version?.generation == fetch.revalidates && holdsForEverybody(fetch) && !isFinishedDownload
    }

    /// Whether readers that may do without the origin use the version after the error of a
    /// revalidation.
    func serves(after error: OriginError) -> Bool { error.isTransient || (error.isGone && isFinishedDownload) }
}

extension SessionStateMachine {
    /// The current version, for a reader that has not decided to use it.
    package enum Look: Hashable, Sendable {
        /// The index is being read. The reader is woken when it is known.
        case wait
        /// There is no version yet, or the reader has a response of its own.
        case unknown
        /// The version that readers get now.
        case version(Representation)
    }
}
