import SpoolSystem

extension DiskTree {
    /// The names and files on which other changes of names depend.
    struct Foundation {
        private struct Place: Hashable {
            let directory: ID
            let name: String
        }

        private var places: Set<Place> = []
        private var nodes: Set<ID> = []

        /// Returns whether the change is about one of the names or files.
        func isTouched(by change: EntryChange) -> Bool {
            change.entries.contains { entry in
                places.contains(Place(directory: entry.directory, name: entry.name))
                    || entry.old.map(nodes.contains) == true || entry.new.map(nodes.contains) == true
            }
        }

        mutating func add(_ change: EntryChange) {
            for entry in change.entries {
                places.insert(Place(directory: entry.directory, name: entry.name))
                if let old = entry.old { nodes.insert(old) }
                if let new = entry.new { nodes.insert(new) }
            }
        }
    }

    /// Returns the tree after the process died: with everything that was written, without handles
    /// and locks.
    func afterCrash() -> DiskTree {
        var survivor = self
        for id in nodes.keys.sorted() {
            survivor.nodes[id]?.handles = []
            survivor.nodes[id]?.exclusiveLock = nil
            survivor.nodes[id]?.sharedLocks = []
            survivor.collect(id)
        }
        return survivor
    }

    /// Returns the tree after a power loss. Each change of names that was not synced is there or
    /// not, but none is there without the changes on which it depends. Files have the bytes that
    /// ``SparsePages/afterPowerLoss(_:)`` leaves.
    func afterPowerLoss(_ random: SeededRandom) -> DiskTree {
        var settled = self
        var lost = Foundation()
        for change in pending {
            if lost.isTouched(by: change) || random.chance(1, in: 2) {
                lost.add(change)
            } else {
                settled.settle(change)
            }
        }
        var survivor = DiskTree()
        survivor.nodes = [:]
        survivor.copy(Self.root, from: settled, random)
        survivor.nodes[Self.root]?.durableReferences = 1
        survivor.continueNumbering(after: self)
        survivor.recount()
        return survivor
    }

    private mutating func settle(_ change: EntryChange) {
        for entry in change.entries {
            guard case .directory(var directory)? = nodes[entry.directory]?.content else { continue }
            directory.durableEntries[entry.name] = entry.new
            nodes[entry.directory]?.content = .directory(directory)
        }
    }

    /// Copies a node and, for a directory, everything that its durable entries name.
    private mutating func copy(_ id: ID, from disk: DiskTree, _ random: SeededRandom) {
        guard let node = disk.nodes[id] else { return }
        switch node.content {
        case .file(let pages):
            nodes[id] = Node(content: .file(pages.afterPowerLoss(random)), links: 1, durableReferences: 1)
        case .directory(let directory):
            let entries = directory.durableEntries
            nodes[id] = Node(
                content: .directory(Directory(entries: entries, durableEntries: entries)), links: 1, durableReferences: 1)
            for name in entries.keys.sorted() { if let child = entries[name] { copy(child, from: disk, random) } }
        }
    }
}
