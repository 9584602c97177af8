import SpoolCore
import SpoolSystem

/// The progress of a sweep. It finds files that the index does not name, rows without a resource,
/// and the real sizes of the other files.
///
/// Such *orphans* remain after a kill between a commit of the index and an unlink, after another
/// process had a file open, or after an index was set aside. They occupy space and do no other
/// harm. The same is true of bytes that were written to a file and never committed. The search may
/// take long: each step examines a bounded number of directories or rows. Files come first, because
/// their sizes are unknown until then.
struct OrphanSweep {
    /// Directories that must still be examined; nil before the first step. Bounded by the 256
    /// groups and the resources of one of them.
    var directories: [String]?
    var hasFiles = true
    /// The last generation whose rows were examined.
    var lastGeneration: Int64 = .min

    /// The parts of a store that a sweep examines.
    struct Ground {
        let files: StoreFiles
        /// The first generation of this opening. Its files and later ones may not be in the index yet.
        let firstOfOpening: Int64
    }

    /// Examines up to `limit` directories or generations. Returns true when the sweep has ended.
    mutating func step(limit: Int, on ground: Ground, _ index: StoreIndex) throws(StoreError) -> Bool {
        guard hasFiles else {
            let last = try index.sweepRows(after: lastGeneration, limit: limit)
            lastGeneration = last ?? lastGeneration
            return last == nil
        }
        var rest = directories ?? ground.files.listing.groups.reversed()
        for _ in 0..<limit {
            guard let next = rest.popLast() else {
                hasFiles = false
                break
            }
            rest += try examine(next, on: ground, index)
        }
        directories = rest
        return false
    }

    /// Examines a directory.
    ///
    /// - Returns: The directories in it that must be examined next, the first one last.
    private func examine(_ directory: String, on ground: Ground, _ index: StoreIndex) throws(StoreError) -> [String] {
        let files = ground.files
        if parentDirectory(of: directory) == files.layout.data { return files.listing.directories(ofGroup: directory).reversed() }
        for file in files.listing.dataFiles(in: directory) {
            let (path, generation) = (file.path, file.generation)
            guard generation.rawValue < ground.firstOfOpening else { continue }
            let named = try index.representations.file(of: generation)
            if named.map({ files.path(of: $0) }) == path {
                try enterSize(path, of: generation, files, index)
            } else {
                files.unlink(path, of: generation)
            }
        }
        files.removeDirectory(directory)
        return []
    }

    /// Enters the space that a file occupies, including bytes that a killed process wrote and did
    /// not commit.
    private func enterSize(_ path: String, of generation: GenerationID, _ files: StoreFiles, _ index: StoreIndex) throws(StoreError) {
        let status: FileStatus?
        // If the status can't be read, the index keeps its size.
        do throws(SystemError) { status = try files.fileSystem.status(path) } catch { return }
        guard let status, !status.isDirectory else { return }
        try index.enterSize(of: generation, status)
    }
}

extension SQLiteStore {
    /// Whether the sweep has not ended yet.
    package var owesSweep: Bool { sweep.use { $0 != nil } }

    /// Whether the sweep has not examined all files yet.
    package var hasUncountedFiles: Bool { sweep.use { $0?.hasFiles == true } }

    /// Examines up to `limit` directories or generations. Returns true when the sweep has ended.
    package func sweepOrphans(limit: Int) throws(StoreError) -> Bool {
        guard var progress = sweep.use({ $0 }) else { return true }
        let ground = OrphanSweep.Ground(files: files, firstOfOpening: numbers.first)
        let isDone = try write { (index) throws(StoreError) in try progress.step(limit: limit, on: ground, index) }
        if isDone, !files.hasLeftBehind { try write { (index) throws(StoreError) in try index.noteSweep(isOwed: false) } }
        sweep.use { $0 = isDone ? nil : progress }
        return isDone
    }
}
