/// Entries in ascending order, held in a B+-tree of arrays: the one structure under both containers.
///
/// Up to `Entry.nodeCapacity` entries lie in one flat array. Beyond, each such array is a leaf, and arrays of *digests*,
/// one for each child, lead to it. Nodes are structs that hold arrays, so the tree is a value:
/// a copy costs nothing, and a change copies only what it shares and touches.
///
/// A place is told by a *probe*: an entry that need not be there, and begins at the place.
@usableFromInline struct SortedTree<Entry: TreeEntry> {
    @usableFromInline var root = Node()
    /// The number of entries.
    @usableFromInline var count = 0

    @inlinable init() {}

    /// - Complexity: O(log *n*).
    @inlinable var first: Entry? { root.first }

    /// The digest of all entries, which sorts as the last of them; nil when there is none.
    ///
    /// It is the last entry itself where a digest tells no more than the order.
    @inlinable var lastDigest: Entry? { root.entries.last }

    /// The first entry that doesn't precede `probe`.
    /// - Complexity: O(log *n*).
    @inlinable func first(notBefore probe: Entry) -> Entry? {
        root.first(notBefore: probe)
    }

    /// Hands `body` the leaf that has the first entry that doesn't precede `probe`, and its index there;
    /// the last leaf and its end when there is no such entry.
    ///
    /// `body` may take entries out, and leave at most two more than there were, in order.
    /// - Complexity: O(log *n*) besides `body`.
    @inlinable mutating func edit<Result>(
        notBefore probe: Entry, _ body: (inout [Entry], Int) -> Result
    ) -> Result {
        var growth = 0, isSettled = false
        let result = root.edit(notBefore: probe, &isSettled) { leaf, index in
            let count = leaf.count
            defer { growth = leaf.count - count }
            return body(&leaf, index)
        }
        count += growth
        if !isSettled { root.settleAsRoot() }
        return result
    }

    /// Puts in an entry that is not there.
    /// - Complexity: O(log *n*).
    @inlinable mutating func insert(_ entry: Entry) {
        root.insert(entry, nil)
        count += 1
        if root.entries.count > Entry.nodeCapacity { root.settleAsRoot() }
    }

    /// Puts in two entries that are not there, the first of which precedes the second: one search where they lie close to each other.
    /// - Complexity: O(log *n*).
    @inlinable mutating func insert(_ first: Entry, _ second: Entry) {
        let tookBoth = root.insert(first, second)
        count += tookBoth ? 2 : 1
        if root.entries.count > Entry.nodeCapacity { root.settleAsRoot() }
        if !tookBoth { insert(second) }
    }

    /// Takes out an entry that is there.
    /// - Complexity: O(log *n*).
    @inlinable mutating func remove(_ entry: Entry) {
        edit(notBefore: entry) { leaf, index in
            assert(leaf[index] == entry, "an entry to remove is not there")
            leaf.remove(at: index)
        }
    }
}

/// What a ``SortedTree`` can hold.
@usableFromInline protocol TreeEntry: Equatable {
    /// The most entries of a leaf, and the most children of an inner node.
    static var nodeCapacity: Int { get }

    /// Whether `self` comes before `other`. No two entries of a tree are equal in order.
    func precedes(_ other: Self) -> Bool

    /// An entry that stands for `entries`, which are in order and at least one:
    /// it sorts as the last of them, and tells what else a search wants to know of all.
    static func digest(of entries: [Self]) -> Self

    /// The digest of the entries that `self` stands for, and of `entry`.
    func absorbing(_ entry: Self) -> Self
}

extension TreeEntry {
    /// What a node has where entries come in order: nearly full, but the next that comes in between shall not split it.
    @inlinable static var nodeFilling: Int { nodeCapacity - nodeCapacity / 8 }

    /// The most entries that a node ever has: a change may add two before the node is split.
    ///
    /// A power of two, so that an array that doubles as it grows ends with this room and none to spare.
    @inlinable static var nodeRoom: Int { nodeCapacity + 2 }
}

// MARK: - Walking

extension SortedTree: Sequence {
    /// Walks a leaf, then looks the next one up from the root: one search in as many steps as a leaf is long.
    @usableFromInline struct Iterator: IteratorProtocol {
        @usableFromInline let root: Node
        @usableFromInline var leaf: [Entry]
        @usableFromInline var index = 0

        @inlinable init(_ root: Node) {
            self.root = root
            leaf = root.firstLeaf
        }

        @inlinable mutating func next() -> Entry? {
            if index == leaf.count, !root.isLeaf, let last = leaf.last {
                (leaf, index) = root.withLeaf(notBefore: { !last.precedes($0) }) { ($0, $1) }
            }
            guard index < leaf.count else { return nil }
            defer { index += 1 }
            return leaf[index]
        }
    }

    @inlinable func makeIterator() -> Iterator { Iterator(root) }

    /// Hands `body` the entries from the first one on that doesn't precede `probe`, until it returns false.
    ///
    /// For short walks, which an iterator's own references to nodes would make half as long again.
    @inlinable func walk(notBefore probe: Entry, _ body: (Entry) -> Bool) {
        var last = root.withLeaf(notBefore: { $0.precedes(probe) }) { Self.walk($0, from: $1, body) }
        while !root.isLeaf, let entry = last {
            last = root.withLeaf(notBefore: { !entry.precedes($0) }) { Self.walk($0, from: $1, body) }
        }
    }

    /// The leaf's last entry, if that was handed over and the walk goes on.
    @inline(__always) @inlinable static func walk(_ leaf: [Entry], from first: Int, _ body: (Entry) -> Bool) -> Entry? {
        var index = first
        while index < leaf.count {
            guard body(leaf[index]) else { return nil }
            index += 1
        }
        return first < index ? leaf[index - 1] : nil
    }

    @inlinable var underestimatedCount: Int { count }
}

// MARK: - Comparing

extension SortedTree: Equatable {
    /// Entries decide; how they are spread over nodes tells how a tree came about.
    @inlinable static func == (a: SortedTree, b: SortedTree) -> Bool {
        a.count == b.count && a.elementsEqual(b)
    }
}

extension SortedTree: Sendable where Entry: Sendable {}
extension SortedTree.Iterator: Sendable where Entry: Sendable {}
