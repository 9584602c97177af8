// Nodes of the tree. A node keeps its own children in shape; the tree keeps the root in shape.
//
// The shape: only the root may be empty; no node exceeds its capacity; all leaves have the same
// depth; and two neighbours under one parent have more than half a capacity together. The depth is
// therefore O(log n).

extension SortedTree {
    @usableFromInline package struct Node {
        /// The entries of a leaf; in an inner node, the digests of the children, one for each.
        @usableFromInline package var entries: [Entry]
        /// The children; empty in a leaf.
        @usableFromInline package var children: [Node]

        @inlinable package init(entries: [Entry] = [], children: [Node] = []) {
            self.entries = entries
            self.children = children
        }

        @inlinable package var isLeaf: Bool { children.isEmpty }
    }
}

extension SortedTree.Node {
    // MARK: Search

    /// The number of entries for which `isBefore` is true. Those entries come first.
    ///
    /// Looks at every eighth entry, then at eight single ones. None of these loads depends on
    /// another, unlike the steps of a binary search, and the processor mispredicts twice at most.
    @inline(__always) @inlinable package func count(_ isBefore: (Entry) -> Bool) -> Int {
        let count = entries.count
        var index = 0
        while index &+ 8 <= count && isBefore(entries[index &+ 7]) { index &+= 8 }
        while index < count && isBefore(entries[index]) { index &+= 1 }
        return index
    }

    @inlinable package var first: Entry? { isLeaf ? entries.first : children[0].first }

    @inlinable package var firstLeaf: [Entry] { isLeaf ? entries : children[0].firstLeaf }

    /// Calls `body` with the leaf that contains the first entry for which `isBefore` is false, and
    /// with the index of that entry. Without such an entry, passes the last leaf and its end.
    ///
    /// Descends by pointers. An array would return its elements with their references counted, and
    /// each count waits for memory that may be far away. `self` keeps all nodes below it alive and
    /// unchanged.
    @inline(__always) @inlinable package func withLeaf<Result>(
        notBefore isBefore: (Entry) -> Bool, _ body: ([Entry], Int) -> Result
    ) -> Result {
        withUnsafePointer(to: self) { root in
            var node = root
            var index = node.pointee.count(isBefore)
            while !node.pointee.isLeaf {
                let child = Swift.min(index, node.pointee.entries.count - 1)
                node = node.pointee.children.withUnsafeBufferPointer { $0.baseAddress.unsafelyUnwrapped + child }
                index = node.pointee.count(isBefore)
            }
            return body(node.pointee.entries, index)
        }
    }

    @inlinable package func first(notBefore probe: Entry) -> Entry? {
        withLeaf(notBefore: { $0.precedes(probe) }) { $1 < $0.count ? $0[$1] : nil }
    }

    // MARK: Change

    /// Inserts `entry`, and also `next`, which comes after it, if that belongs into the same leaf.
    ///
    /// The node may exceed its capacity afterwards. Digests on the way absorb the entries, so that
    /// no node is read as a whole.
    /// - Returns: whether `next` was inserted.
    @inlinable @discardableResult package mutating func insert(_ entry: Entry, _ next: Entry?) -> Bool {
        let index = count { $0.precedes(entry) }
        if isLeaf {
            entries.insert(entry, at: index)
            if let next { entries.insert(next, at: index + 1 + entries[(index + 1)...].prefix { $0.precedes(next) }.count) }
            return next != nil
        }
        let isAtEnd = index == children.count
        let child = isAtEnd ? index - 1 : index
        let near = next.flatMap { isAtEnd || $0.precedes(entries[child]) ? $0 : nil }
        let tookNext = children[child].insert(entry, near)
        if children[child].entries.count > Entry.nodeCapacity {
            insert(children[child].split(keepsFull: isAtEnd), at: child + 1)
            entries[child] = Entry.digest(of: children[child].entries)
        } else {
            entries[child] = entries[child].absorbing(entry)
            if tookNext, let next { entries[child] = entries[child].absorbing(next) }
        }
        return tookNext
    }

    /// Calls `body` with the leaf that contains the first entry not before `probe`, and updates the
    /// nodes on the way.
    /// - Parameter isSettled: false on return if the digest or the number of entries of this node
    ///   may have changed.
    @inlinable package mutating func edit<Result>(
        notBefore probe: Entry, _ isSettled: inout Bool, _ body: (inout [Entry], Int) -> Result
    ) -> Result {
        let index = count { $0.precedes(probe) }
        if isLeaf {
            isSettled = false
            return body(&entries, index)
        }
        let isAtEnd = index == children.count
        let child = isAtEnd ? index - 1 : index
        let result = children[child].edit(notBefore: probe, &isSettled, body)
        if !isSettled { isSettled = settle(child, keepsFull: isAtEnd) }
        return result
    }

    /// Updates this node after a change of the child at `index`: its digest, and its size if that
    /// is out of bounds.
    /// - Parameter keepsFull: whether a child that is split stays nearly full, because more entries
    ///   will come after it than within it.
    /// - Returns: whether this node has not changed.
    @inlinable package mutating func settle(_ index: Int, keepsFull: Bool) -> Bool {
        let size = children[index].entries.count
        if size > Entry.nodeCapacity {
            insert(children[index].split(keepsFull: keepsFull), at: index + 1)
        } else if size <= Entry.nodeCapacity / 2 {
            gather(around: index)
            return false
        }
        let digest = Entry.digest(of: children[index].entries)
        if size <= Entry.nodeCapacity && digest == entries[index] { return true }
        entries[index] = digest
        return false
    }

    @inlinable package mutating func insert(_ child: Self, at index: Int) {
        entries.insert(Entry.digest(of: child.entries), at: index)
        children.insert(child, at: index)
    }

    /// Splits the node, and returns its end: half of it, or with `keepsFull` only a small part.
    @inlinable package mutating func split(keepsFull: Bool) -> Self {
        let cut = keepsFull ? Entry.nodeFilling : entries.count / 2
        var rest = Self(children: isLeaf ? [] : Array(children[cut...]))
        rest.entries.reserveCapacity(Entry.nodeRoom)
        rest.entries += entries[cut...]
        entries.removeSubrange(cut...)
        if !isLeaf { children.removeSubrange(cut...) }
        return rest
    }

    /// Merges the child at `index` and its neighbours where they are small, and removes it if it is
    /// empty.
    @inlinable package mutating func gather(around index: Int) {
        if children[index].entries.isEmpty {
            entries.remove(at: index)
            children.remove(at: index)
        } else {
            entries[index] = Entry.digest(of: children[index].entries)
            mergeIfSmall(index)
        }
        mergeIfSmall(index - 1)
    }

    /// Merges the children at `index` and `index + 1` if together they fill at most half of one.
    @inlinable package mutating func mergeIfSmall(_ index: Int) {
        guard index >= 0, index + 1 < children.count else { return }
        guard children[index].entries.count + children[index + 1].entries.count <= Entry.nodeCapacity / 2 else { return }
        entries.remove(at: index)
        let right = children.remove(at: index + 1)
        children[index].entries += right.entries
        children[index].children += right.children
        entries[index] = Entry.digest(of: children[index].entries)
    }

    /// Adds a level when the root exceeds its capacity, and removes levels that lead to a single
    /// child.
    @inlinable package mutating func settleAsRoot() {
        if entries.count > Entry.nodeCapacity {
            let right = split(keepsFull: false)
            let left = self
            self = Self(
                entries: [Entry.digest(of: left.entries), Entry.digest(of: right.entries)],
                children: [left, right])
        }
        while children.count == 1 { self = children[0] }
    }
}

extension SortedTree.Node: Sendable where Entry: Sendable {}

// MARK: - Building

extension SortedTree {
    /// Creates a tree of `entries`, which are in order.
    /// - Complexity: O(*n*).
    @inlinable package init(ascending entries: [Entry]) {
        count = entries.count
        root = Node(entries: entries)
        while root.entries.count > Entry.nodeCapacity {
            let nodes = root.cut()
            root = Node(entries: nodes.map { Entry.digest(of: $0.entries) }, children: nodes)
        }
    }
}

extension SortedTree.Node {
    /// Divides the node into several, none of which exceeds the capacity.
    @inlinable package func cut() -> [Self] {
        stride(from: 0, to: entries.count, by: Entry.nodeFilling).map { start in
            let part = start..<Swift.min(start + Entry.nodeFilling, entries.count)
            return Self(entries: Array(entries[part]), children: isLeaf ? [] : Array(children[part]))
        }
    }
}

// MARK: - Invariants

extension SortedTree {
    /// Traps unless the tree is in shape. For tests.
    /// - Complexity: O(*n*).
    @usableFromInline package func checkInvariants() {
        precondition(count == reduce(0) { count, _ in count + 1 }, "the count is wrong")
        precondition(root.children.count != 1, "the root leads to one child only")
        _ = root.checkedDepth(isRoot: true)
    }
}

extension SortedTree.Node {
    /// The number of levels from this node down.
    fileprivate func checkedDepth(isRoot: Bool = false) -> Int {
        precondition(isRoot || !entries.isEmpty, "an empty node")
        precondition(entries.count <= Entry.nodeCapacity, "a node over its capacity")
        precondition(zip(entries, entries.dropFirst()).allSatisfy { $0.precedes($1) }, "entries out of order")
        guard !isLeaf else { return 1 }
        precondition(entries == children.map { Entry.digest(of: $0.entries) }, "digests that don't tell what the children have")
        let neighbours = zip(children, children.dropFirst())
        precondition(
            neighbours.allSatisfy { $0.entries.count + $1.entries.count > Entry.nodeCapacity / 2 }, "two small neighbours")
        let depths = Set(children.map { $0.checkedDepth() })
        precondition(depths.count == 1, "leaves at different depths")
        return 1 + depths.first!
    }
}
