import SpoolCore
import SpoolSystem

extension StoreIndex {
    /// The result of a commit.
    enum CommitOutcome {
        /// The commit is in the index. The caller has to unlink the files of the replaced
        /// generations.
        case entered(replacing: [DataFileID])
        /// A later generation is current: the commit changed nothing.
        case outdated
    }

    /// Enters a commit in one transaction.
    ///
    /// - Parameters:
    ///   - file: the current status of the data file, if there is one.
    ///   - lastGeneration: the last number that was handed out.
    func commit(_ commit: StoreCommit, file: FileStatus?, lastGeneration: Int64) throws(StoreError) -> CommitOutcome {
        var known: RepresentationTable.KnownGeneration?
        var reserved = reservedGeneration
        let outcome = try change { () throws(StoreError) -> CommitOutcome in
            reserved = try enterReservation(including: max(commit.generation.rawValue, lastGeneration))
            let (outcome, facts) = try enterFacts(commit)
            guard var facts else { return outcome }
            if !commit.pieces.isEmpty { try unsynced.insert(commit.generation) }
            for piece in commit.pieces { try pieces.enter(piece, of: commit.generation) }
            if let file {
                let allocatedBytes = try occupiedBytes(of: commit.generation, file)
                try setSize(of: commit.generation, allocatedBytes, was: facts.allocatedBytes)
                facts.allocatedBytes = allocatedBytes
            }
            known = facts
            return outcome
        }
        reservedGeneration = reserved
        if let known { representations.remember(commit.generation, known) }
        return outcome
    }

    /// Enters the part of a commit besides its pieces. Returns no facts when the commit is
    /// outdated.
    private func enterFacts(_ commit: StoreCommit) throws(StoreError) -> (CommitOutcome, RepresentationTable.KnownGeneration?) {
        // The usual commit adds pieces to a generation whose facts are unchanged.
        if let known = representations.knownFacts(of: commit.generation), known.isRepeated(by: commit) {
            return (.entered(replacing: []), known)
        }
        let resource = try resources.enter(commit)
        var facts = RepresentationTable.KnownGeneration(
            resource: resource, url: commit.url, representation: commit.representation, fileExtension: commit.fileExtension,
            allocatedBytes: 0)
        let current = try representations.current(of: resource)
        if let current, current > commit.generation { return (.outdated, nil) }
        if current == commit.generation {
            try representations.update(commit)
            facts.allocatedBytes = try sizes.size(of: commit.generation)
            return (.entered(replacing: []), facts)
        }
        let replaced = try takeOutGenerations(of: resource)
        try representations.insert(commit, resource: resource)
        return (.entered(replacing: replaced), facts)
    }

    // MARK: Sizes

    /// Returns the bytes that a file occupies, at least the number of bytes stored in it.
    ///
    /// Some file systems (ZFS, Btrfs, NFS) count the blocks of a file only when they reach the
    /// disk. With their numbers alone, a fast origin could exceed the quota, and an eviction would
    /// appear to free nothing.
    func occupiedBytes(of generation: GenerationID, _ file: FileStatus) throws(StoreError) -> Int64 {
        // A file with as many blocks as its length needs is counted completely.
        guard file.allocatedBytes < file.size else { return file.allocatedBytes }
        return max(file.allocatedBytes, try pieces.byteCount(of: generation))
    }

    /// Enters the bytes that a generation's file occupies. Runs inside a transaction.
    func setSize(of generation: GenerationID, _ bytes: Int64, was before: Int64) throws(StoreError) {
        try sizes.set(bytes, of: generation, was: before)
        representations.noteSize(bytes, of: generation)
    }

    /// Enters the bytes that the file of a generation occupies now, if the generation is in the
    /// index.
    func enterSize(of generation: GenerationID, _ file: FileStatus) throws(StoreError) {
        guard try representations.has(generation) else { return }
        let (bytes, before) = (try occupiedBytes(of: generation, file), try sizes.size(of: generation))
        guard bytes != before else { return }
        try change { () throws(StoreError) in try setSize(of: generation, bytes, was: before) }
    }
}
