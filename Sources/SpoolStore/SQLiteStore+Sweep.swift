import SpoolCore
import SpoolSystem

/// The progress of a sweep. It finds files that the index does not name, rows that belong to no
/// resource, and the real sizes of the other files.
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
}

extension SQLiteStore {
    /// Whether the sweep has not ended yet.
    package var owesSweep: Bool { sweep.use { $0 != nil } }

    /// Whether the sweep has not examined all files yet.
    package var hasUncountedFiles: Bool { sweep.use { $0?.hasFiles == true } }

    /// Examines up to `limit` directories or generations. Returns true when the sweep has ended.
    package func sweepOrphans(limit: Int) throws(StoreError) -> Bool {
        guard var step = sweep.use({ $0 }) else { return true }
        let isDone = try write { (index) throws(StoreError) in
            guard step.hasFiles else {
                let last = try index.sweepRows(after: step.lastGeneration, limit: limit)
                step.lastGeneration = last ?? step.lastGeneration
                return last == nil
            }
            if step.directories == nil {
                step.directories = layout.groups(on: fileSystem, onTrouble: files.noteUnlistable).reversed()
            }
            for _ in 0..<limit {
                guard let next = step.directories?.popLast() else {
                    step.hasFiles = false
                    break
                }
                try sweep(next, &step, index)
            }
            return false
        }
        if isDone, !files.hasLeftBehind {
            try write { (index) throws(StoreError) in
                try index.noteSweep(isOwed: false)
            }
        }
        sweep.use { $0 = isDone ? nil : step }
        return isDone
    }

    private func sweep(_ directory: String, _ step: inout OrphanSweep, _ index: StoreIndex) throws(StoreError) {
        if parentDirectory(of: directory) == layout.data {
            let found = layout.directories(ofGroup: directory, on: fileSystem, onTrouble: files.noteUnlistable)
            step.directories?.append(contentsOf: found.reversed())
            return
        }
        for file in layout.dataFiles(in: directory, on: fileSystem, onTrouble: files.noteUnlistable) {
            let (path, generation) = (file.path, file.generation)
            // Later files belong to this opening, and may not be in the index yet.
            guard generation.rawValue < numbers.first else { continue }
            let named = try index.representations.file(of: generation)
            if named.map({ files.path(of: $0) }) == path {
                try enterSize(path, of: generation, index)
            } else {
                files.unlink(path, of: generation)
            }
        }
        files.removeDirectory(directory)
    }

    /// Enters the space that a file occupies, including bytes that a killed process wrote and did
    /// not commit.
    private func enterSize(_ path: String, of generation: GenerationID, _ index: StoreIndex) throws(StoreError) {
        let status: FileStatus?
        // If the status can't be read, the index keeps its size.
        do throws(SystemError) { status = try fileSystem.status(path) } catch { return }
        guard let status, !status.isDirectory else { return }
        try index.enterSize(of: generation, status.allocatedBytes)
    }
}
