import SpoolLibc

/// The files and directories of a ``MemoryDisk``, as programs see them and as the disk has them
/// durably.
///
/// It is a value, so that a crash can be tried on a copy. Its errors have only an errno; the disk
/// adds call and path.
struct DiskTree {
    typealias ID = DiskOperation.FileID

    /// The most entry changes that wait for a sync of their directory. Beyond this, the oldest
    /// become durable, as by the write-back of a disk.
    static let maximumPendingChanges = 4096
    /// The largest file, as on ext4.
    static let maximumFileSize: Int64 = 1 << 44

    struct Node {
        var content: Content
        /// 1 while a directory names the node, else 0. Hard links are absent.
        var links = 0
        var handles: Set<Int> = []
        var exclusiveLock: Int?
        var sharedLocks: Set<Int> = []
        /// The number of durable or pending entries that name the node. While there are any, a
        /// power loss may bring it back.
        var durableReferences = 0
        /// Whether its pages are counted in ``DiskTree/allocatedPages``. Those of a file that only
        /// a power loss would bring back are not.
        var isCounted = true
    }

    enum Content {
        case file(SparsePages)
        case directory(Directory)
    }

    struct Directory {
        var entries: [String: ID] = [:]
        /// The entries as the disk has them.
        var durableEntries: [String: ID] = [:]
    }

    /// One change of names that reaches the disk as a whole or not at all.
    struct EntryChange {
        struct Entry {
            let directory: ID
            let name: String
            let old: ID?
            let new: ID?
        }

        let entries: [Entry]

        func touches(_ directory: ID) -> Bool { entries.contains { $0.directory == directory } }
    }

    static let root: ID = 0

    var nodes: [ID: Node]
    var pending: [EntryChange] = []
    private var allocatedPages = 0
    private var nextID: ID = 1

    init() {
        nodes = [Self.root: Node(content: .directory(Directory()), links: 1, durableReferences: 1)]
    }

    /// Continues with the numbers of another tree, so that no number is given out twice.
    mutating func continueNumbering(after other: DiskTree) {
        nextID = other.nextID
    }

    /// Counts the pages of all files anew.
    mutating func recount() {
        allocatedPages = nodes.values.reduce(0) { sum, node in
            guard case .file(let pages) = node.content, node.isCounted else { return sum }
            return sum + pages.allocatedPages
        }
    }

    /// The bytes that all files take on the disk. An unlinked file counts as long as it is open.
    var allocatedBytes: Int64 { Int64(allocatedPages) * Int64(SparsePages.pageBytes) }

    // MARK: Paths

    static func components(_ path: String) throws(DiskErrno) -> [String] {
        guard path.utf8.first == UInt8(ascii: "/") else { throw DiskErrno(EINVAL) }
        let names = path.split(separator: "/").map(String.init)
        if names.contains(where: { $0 == "." || $0 == ".." || $0.utf8.contains(0) }) { throw DiskErrno(EINVAL) }
        if names.contains(where: { $0.utf8.count > 255 }) { throw DiskErrno(ENAMETOOLONG) }
        return names
    }

    /// Returns the node at a path. Throws `ENOENT` if there is none, `ENOTDIR` if a part of the
    /// path is a file.
    func lookup(_ path: String) throws(DiskErrno) -> ID {
        try walk(try Self.components(path)[...])
    }

    func directory(_ id: ID) throws(DiskErrno) -> Directory {
        guard case .directory(let directory)? = nodes[id]?.content else { throw DiskErrno(ENOTDIR) }
        return directory
    }

    func pages(_ id: ID) throws(DiskErrno) -> SparsePages {
        switch nodes[id]?.content {
        case .file(let pages): return pages
        case .directory: throw DiskErrno(EISDIR)
        case nil: throw DiskErrno(EBADF)
        }
    }

    private func walk(_ names: ArraySlice<String>) throws(DiskErrno) -> ID {
        var id = Self.root
        for name in names {
            guard let next = try directory(id).entries[name] else { throw DiskErrno(ENOENT) }
            id = next
        }
        return id
    }

    /// Returns the directory of a path and the name in it. The name need not exist.
    private func place(_ path: String) throws(DiskErrno) -> (directory: ID, name: String, existing: ID?) {
        let names = try Self.components(path)
        guard let name = names.last else { throw DiskErrno(EBUSY) }
        let parent = try walk(names.dropLast())
        return (parent, name, try directory(parent).entries[name])
    }

    // MARK: Changes

    mutating func apply(_ operation: DiskOperation) throws(DiskErrno) {
        switch operation {
        case .createFile(let path): try create(path, .file(SparsePages()))
        case .createDirectory(let path): try create(path, .directory(Directory()))
        case .write(let id, let offset, let bytes):
            try changePages(id) { pages in bytes.withUnsafeBytes { pages.write($0, at: offset) } }
        case .truncate(let id, let size): try changePages(id) { $0.truncate(to: size) }
        case .punchHole(let id, let offset, let count): try changePages(id) { $0.punch(at: offset, count: count) }
        case .synchronize(let id): try changePages(id) { $0.synchronize() }
        case .failSynchronize(let id): try changePages(id) { $0.failSynchronize() }
        case .synchronizeDirectory(let path): try synchronizeDirectory(path)
        case .unlink(let path): try unlink(path)
        case .removeDirectory(let path): try removeDirectory(path)
        case .rename(let from, let to): try rename(from, to: to)
        }
    }

    /// Changes a file in place, without copying its page map.
    mutating func changePages(_ id: ID, _ body: (inout SparsePages) -> Void) throws(DiskErrno) {
        var pages = try pages(id)
        nodes[id]?.content = .file(SparsePages())
        let before = pages.allocatedPages
        body(&pages)
        nodes[id]?.content = .file(pages)
        if nodes[id]?.isCounted == true { allocatedPages += pages.allocatedPages - before }
    }

    private mutating func create(_ path: String, _ content: Content) throws(DiskErrno) {
        let place = try place(path)
        if place.existing != nil { throw DiskErrno(EEXIST) }
        let id = nextID
        nextID += 1
        nodes[id] = Node(content: content)
        change([EntryChange.Entry(directory: place.directory, name: place.name, old: nil, new: id)])
    }

    private mutating func unlink(_ path: String) throws(DiskErrno) {
        let place = try place(path)
        guard let id = place.existing else { throw DiskErrno(ENOENT) }
        if isDirectory(id) { throw DiskErrno(EISDIR) }
        change([EntryChange.Entry(directory: place.directory, name: place.name, old: id, new: nil)])
    }

    private mutating func removeDirectory(_ path: String) throws(DiskErrno) {
        let place = try place(path)
        guard let id = place.existing else { throw DiskErrno(ENOENT) }
        if try !directory(id).entries.isEmpty { throw DiskErrno(ENOTEMPTY) }
        change([EntryChange.Entry(directory: place.directory, name: place.name, old: id, new: nil)])
    }

    private mutating func rename(_ from: String, to: String) throws(DiskErrno) {
        let source = try place(from)
        guard let id = source.existing else { throw DiskErrno(ENOENT) }
        let target = try place(to)
        if target.existing == id { return }
        if isDirectory(id), try Self.components(to).starts(with: Self.components(from)) { throw DiskErrno(EINVAL) }
        if let replaced = target.existing {
            switch (isDirectory(id), isDirectory(replaced)) {
            case (false, true): throw DiskErrno(EISDIR)
            case (true, false): throw DiskErrno(ENOTDIR)
            case (true, true): if try !directory(replaced).entries.isEmpty { throw DiskErrno(ENOTEMPTY) }
            case (false, false): break
            }
        }
        change([
            EntryChange.Entry(directory: target.directory, name: target.name, old: target.existing, new: id),
            EntryChange.Entry(directory: source.directory, name: source.name, old: id, new: nil),
        ])
    }

    func isDirectory(_ id: ID) -> Bool {
        if case .directory? = nodes[id]?.content { true } else { false }
    }

    // MARK: Entries and their durability

    /// Makes a change visible now, and durable later.
    private mutating func change(_ entries: [EntryChange.Entry]) {
        for entry in entries {
            changeDirectory(entry.directory) { $0.entries[entry.name] = entry.new }
            if let new = entry.new {
                nodes[new]?.links = 1
                nodes[new]?.durableReferences += 1
            }
        }
        pending.append(EntryChange(entries: entries))
        // The second entry of a rename removes the name that its first entry linked.
        for entry in entries {
            guard let old = entry.old, !entries.contains(where: { $0.new == old }) else { continue }
            nodes[old]?.links = 0
            collect(old)
        }
        if pending.count > Self.maximumPendingChanges { makeDurable([0]) }
    }

    /// Makes the entries of a directory durable, and before them the changes on which they depend.
    private mutating func synchronizeDirectory(_ path: String) throws(DiskErrno) {
        let id = try lookup(path)
        _ = try directory(id)
        var needed: Set<Int> = []
        var foundation = Foundation()
        for (index, change) in pending.enumerated().reversed() where change.touches(id) || foundation.isTouched(by: change) {
            needed.insert(index)
            foundation.add(change)
        }
        makeDurable(needed)
    }

    private mutating func makeDurable(_ indices: Set<Int>) {
        let changes = pending
        pending = changes.indices.filter { !indices.contains($0) }.map { changes[$0] }
        for index in indices.sorted() {
            for entry in changes[index].entries { makeDurable(entry) }
        }
    }

    private mutating func makeDurable(_ entry: EntryChange.Entry) {
        // In a directory that is gone, nothing is durable.
        guard nodes[entry.directory] != nil else {
            if let new = entry.new { releaseDurableReference(new) }
            return
        }
        var replaced: ID?
        changeDirectory(entry.directory) { directory in
            replaced = directory.durableEntries[entry.name]
            // The durable entry takes over the reference of the pending change.
            directory.durableEntries[entry.name] = entry.new
        }
        if let replaced { releaseDurableReference(replaced) }
    }

    private mutating func releaseDurableReference(_ id: ID) {
        nodes[id]?.durableReferences -= 1
        collect(id)
    }

    private mutating func changeDirectory(_ id: ID, _ body: (inout Directory) -> Void) {
        guard case .directory(var directory)? = nodes[id]?.content else { return }
        nodes[id]?.content = .directory(Directory())
        body(&directory)
        nodes[id]?.content = .directory(directory)
    }

    /// Removes a node without name and open handle that no power loss can bring back.
    mutating func collect(_ id: ID) {
        guard let node = nodes[id], node.links == 0, node.handles.isEmpty else { return }
        if case .file(let pages) = node.content, node.isCounted { allocatedPages -= pages.allocatedPages }
        nodes[id]?.isCounted = false
        guard node.durableReferences == 0 else { return }
        nodes[id] = nil
        guard case .directory(let directory) = node.content else { return }
        for child in directory.durableEntries.values.sorted() { releaseDurableReference(child) }
    }
}

/// The errno of a call on the disk in memory.
struct DiskErrno: Error, Hashable {
    let code: Int32

    init(_ code: Int32) {
        self.code = code
    }
}
