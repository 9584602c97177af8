public import Intervals

/// The ends of the intervals of all elements, in the order of the RFC's transitions. Queries by
/// coordinate and by range read them.
///
/// Each change updates the index by single intervals, and no change builds it anew. Both ends of an
/// interval lie in one tree, so that ends at neighbouring coordinates lie close in memory.
@usableFromInline struct BoundaryIndex: Sendable {
    @usableFromInline var boundaries = SortedTree<Boundary>()

    @inlinable init() {}

    /// The number of intervals.
    @inlinable var intervalCount: Int { boundaries.count / 2 }

    /// Replaces intervals of one element by others.
    /// - Complexity: O(log *n*) for each interval.
    @inlinable mutating func replace(
        _ old: some Sequence<ClosedRange<Int>>, with new: some Sequence<ClosedRange<Int>>, of serial: Int
    ) {
        for interval in old {
            boundaries.remove(.opening(of: interval, serial))
            boundaries.remove(.closing(of: interval, serial))
        }
        for interval in new { insert(interval, of: serial) }
    }

    /// Inserts an interval of an element.
    /// - Complexity: O(log *n*).
    @inlinable mutating func insert(_ interval: ClosedRange<Int>, of serial: Int) {
        boundaries.insert(.opening(of: interval, serial), .closing(of: interval, serial))
    }

    /// The serials of the elements that are active at `coordinate`, ascending.
    /// - Complexity: O(log *n* + *k* log *n*), *k* being their number; O(log *n* + *k*) when they
    ///   open close to each other.
    @inlinable func serials(at coordinate: Int) -> [Int] {
        var serials: [Int] = []
        withUnsafePointer(to: boundaries.root) { SortedTree<Boundary>.Node.collect(&serials, activeAt: coordinate, in: $0) }
        if serials.count > 1 { serials.sort() }
        return serials
    }

    /// The boundaries from the range's first coordinate through the one after its last.
    /// - Complexity: O(log *n* + *r*), *r* being the number of results.
    @inlinable func boundaries(over range: ClosedRange<Int>) -> [Boundary] {
        var result: [Boundary] = []
        let last = range.widened.upperBound
        boundaries.walk(notBefore: .first(at: range.lowerBound)) { boundary in
            // A closing after the last integer has that integer's position, and belongs only to
            // ranges that reach it.
            guard boundary.position <= last, boundary.coordinate != nil || range.upperBound == .max else { return false }
            result.append(boundary)
            return true
        }
        return result
    }

    /// Returns the index with other serials, which are in the same order.
    /// - Complexity: O(*n*).
    @inlinable func renumbered(_ serial: (Int) -> Int) -> BoundaryIndex {
        var result = BoundaryIndex()
        result.boundaries = SortedTree(ascending: boundaries.map { $0.with(serial: serial($0.serial)) })
        return result
    }
}

extension SortedTree<Boundary>.Node {
    /// Collects the serials of the elements that are active at `coordinate`. Descends only where an
    /// interval reaches that far, and by pointers, for the reason given at
    /// `withLeaf(notBefore:_:)`.
    @inlinable static func collect(_ serials: inout [Int], activeAt coordinate: Int, in node: UnsafePointer<Self>) {
        let isLeaf = node.pointee.isLeaf
        for index in 0..<node.pointee.entries.count {
            let entry = node.pointee.entries[index]
            if isLeaf {
                if entry.position > coordinate { return }
                if entry.reach >= coordinate && entry.kind == .open { serials.append(entry.serial) }
            } else {
                if entry.reach >= coordinate {
                    let child = node.pointee.children.withUnsafeBufferPointer { $0.baseAddress.unsafelyUnwrapped + index }
                    collect(&serials, activeAt: coordinate, in: child)
                }
                // The last entry of this child lies after the coordinate, and so do all children
                // that follow.
                if entry.position > coordinate { return }
            }
        }
    }
}
