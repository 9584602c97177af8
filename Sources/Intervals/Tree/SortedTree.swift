/// Entries in ascending order in a B+-tree of arrays: the storage of both containers.
///
/// Up to `Entry.nodeCapacity` entries lie in one flat array. With more entries each such array is a
/// leaf, and arrays of *digests*, one for each child, lead to it. Nodes are structs that contain
/// arrays, so the tree is a value: a copy is free, and a change copies only the shared nodes that
/// it touches.
///
/// A *probe* denotes a position: it is an entry that begins at that position and need not be in the
/// tree.
@usableFromInline package struct SortedTree<Entry: TreeEntry> {
    @usableFromInline package var root = Node()
    /// The number of entries.
    @usableFromInline package var count = 0

    @inlinable package init() {}

    /// The first entry; nil in an empty tree.
    /// - Complexity: O(log *n*).
    @inlinable package var first: Entry? { root.first }

    /// The digest of all entries, which sorts as the last of them; nil in an empty tree.
    ///
    /// Where a digest contains only the order, this is the last entry itself.
    @inlinable package var lastDigest: Entry? { root.entries.last }

    /// The first entry that does not precede `probe`.
    /// - Complexity: O(log *n*).
    @inlinable package func first(notBefore probe: Entry) -> Entry? {
        root.first(notBefore: probe)
    }

    /// Calls `body` with the leaf that contains the first entry that does not precede `probe`, and
    /// with the index of that entry. Without such an entry, passes the last leaf and its end.
    ///
    /// `body` may remove entries, and may leave at most two more than there were, in order.
    /// - Complexity: O(log *n*) besides `body`.
    @inlinable package mutating func edit<Result>(
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

    /// Inserts an entry that is not in the tree.
    /// - Complexity: O(log *n*).
    @inlinable package mutating func insert(_ entry: Entry) {
        root.insert(entry, nil)
        count += 1
        if root.entries.count > Entry.nodeCapacity { root.settleAsRoot() }
    }

    /// Inserts two entries that are not in the tree. The first precedes the second. One search
    /// suffices where they lie close to each other.
    /// - Complexity: O(log *n*).
    @inlinable package mutating func insert(_ first: Entry, _ second: Entry) {
        let tookBoth = root.insert(first, second)
        count += tookBoth ? 2 : 1
        if root.entries.count > Entry.nodeCapacity { root.settleAsRoot() }
        if !tookBoth { insert(second) }
    }

    /// Removes an entry that is in the tree.
    /// - Complexity: O(log *n*).
    @inlinable package mutating func remove(_ entry: Entry) {
        edit(notBefore: entry) { leaf, index in
            assert(leaf[index] == entry, "an entry to remove is not there")
            leaf.remove(at: index)
        }
    }
}

/// An element of a ``SortedTree``.
@usableFromInline package protocol TreeEntry: Equatable {
    /// The most entries of a leaf, and the most children of an inner node.
    static var nodeCapacity: Int { get }

    /// Whether `self` comes before `other`. No two entries of a tree are equal in order.
    func precedes(_ other: Self) -> Bool

    /// Returns an entry that represents `entries`, which are in order and at least one. It sorts as
    /// the last of them, and contains whatever else a search needs from all of them.
    static func digest(of entries: [Self]) -> Self

    /// Returns the digest of the entries that `self` represents, and of `entry`.
    func absorbing(_ entry: Self) -> Self
}

extension TreeEntry {
    /// The size of a node whose entries came in order: nearly full, with room so that the next
    /// insertion in between does not split it.
    @inlinable package static var nodeFilling: Int { nodeCapacity - nodeCapacity / 8 }

    /// The most entries that a node ever has, because a change may add two before the node is
    /// split.
    ///
    /// For the capacities in use this is a power of two. An array that doubles as it grows then
    /// ends with exactly this room.
    @inlinable package static var nodeRoom: Int { nodeCapacity + 2 }
}

// MARK: - Walking

extension SortedTree: Sequence {
    /// Walks a leaf, then searches for the next one from the root. A walk thus makes one search for
    /// each leaf.
    @usableFromInline package struct Iterator: IteratorProtocol {
        @usableFromInline package let root: Node
        @usableFromInline package var leaf: [Entry]
        @usableFromInline package var index = 0

        @inlinable package init(_ root: Node) {
            self.root = root
            leaf = root.firstLeaf
        }

        @inlinable package mutating func next() -> Entry? {
            if index == leaf.count, !root.isLeaf, let last = leaf.last {
                (leaf, index) = root.withLeaf(notBefore: { !last.precedes($0) }) { ($0, $1) }
            }
            guard index < leaf.count else { return nil }
            defer { index += 1 }
            return leaf[index]
        }
    }

    @inlinable package func makeIterator() -> Iterator { Iterator(root) }

    /// Calls `body` with each entry from the first that does not precede `probe` on, until `body`
    /// returns false.
    ///
    /// Suits short walks. An iterator's own references to nodes would make such a walk half as long
    /// again.
    @inlinable package func walk(notBefore probe: Entry, _ body: (Entry) -> Bool) {
        var last = root.withLeaf(notBefore: { $0.precedes(probe) }) { Self.walk($0, from: $1, body) }
        while !root.isLeaf, let entry = last {
            last = root.withLeaf(notBefore: { !entry.precedes($0) }) { Self.walk($0, from: $1, body) }
        }
    }

    /// Calls `body` with the entries of one leaf.
    /// - Returns: the last entry of the leaf if `body` received it and returned true; otherwise
    ///   nil.
    @inline(__always) @inlinable package static func walk(_ leaf: [Entry], from first: Int, _ body: (Entry) -> Bool) -> Entry? {
        var index = first
        while index < leaf.count {
            guard body(leaf[index]) else { return nil }
            index += 1
        }
        return first < index ? leaf[index - 1] : nil
    }

    @inlinable package var underestimatedCount: Int { count }
}

// MARK: - Comparing

extension SortedTree: Equatable {
    /// Whether both trees have the same entries. Their distribution over nodes depends only on how
    /// a tree came about, and is ignored.
    @inlinable package static func == (a: SortedTree, b: SortedTree) -> Bool {
        a.count == b.count && a.elementsEqual(b)
    }
}

extension SortedTree: Sendable where Entry: Sendable {}
extension SortedTree.Iterator: Sendable where Entry: Sendable {}
