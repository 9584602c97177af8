public import Intervals

// Queries by element, by coordinate and by range of coordinates.

extension Rangeable {
    // MARK: By element

    /// The intervals where `element` is active, in ascending order; they are disjoint, with a gap
    /// between neighbours. Empty when it was never inserted.
    ///
    ///     styles.getRange(of: "bold")  // [2...7]
    /// - Complexity: O(*r*), *r* being the number of results.
    @inlinable public func getRange(of element: Element) -> [Interval] {
        intervals(of: element).map(Interval.init)
    }

    /// The coordinates where `element` is active, as a set with further queries.
    ///
    ///     styles.intervals(of: "bold").firstGap(in: 0...99)  // 0...1
    /// - Complexity: O(1).
    @inlinable public func intervals(of element: Element) -> IntervalSet<Int> {
        serials[element].flatMap { members[$0]?.intervals } ?? IntervalSet()
    }

    // MARK: By coordinate

    /// The elements that are active at `index`, in the order of their first insertion.
    ///
    ///     styles[4].objs  // ["bold", "italic"]
    /// - Complexity: O(log *n* + *k* log *n*), *k* being the number of active elements. The factor
    ///   falls as their intervals begin closer together.
    @inlinable public subscript(index: Int) -> Slot<Element> {
        Slot(objs: boundaries.serials(at: index).map { members[$0]!.element })
    }

    /// The elements that are active at `index`; another spelling of the subscript.
    ///
    ///     styles.activeAt(index: 4).objs  // ["bold", "italic"]
    /// - Complexity: That of the subscript.
    @inlinable public func activeAt(index: Int) -> Slot<Element> { self[index] }

    // MARK: By range

    /// Returns the events from the range's first coordinate through the one after its last
    /// (Rangeable RFC v2, §3.5). The ends of elements that are active at the last coordinate are
    /// thus included.
    ///
    /// The events are in the order of coordinates. At one coordinate openings come before closings,
    /// openings in the order of first insertion and closings in the reverse. The subscript returns
    /// the elements that are active at the beginning of the range already.
    ///
    ///     styles.transitions(over: 0...7).map(\.coordinate)  // [2, 3, 8]
    /// - Complexity: O(log *n* + *r*), *r* being the number of events.
    @inlinable public func transitions(over range: ClosedRange<Int>) -> [TransitionEvent<Element>] {
        boundaries.boundaries(over: range).map {
            TransitionEvent(coordinate: $0.coordinate, kind: $0.kind, element: members[$0.serial]!.element)
        }
    }

    /// Returns the events from `lo` through the coordinate after `hi`, like ``transitions(over:)``.
    ///
    ///     try styles.transitions(lo: 0, hi: 7).map(\.coordinate)  // [2, 3, 8]
    /// - Throws: ``RangeableError/invalidInterval(start:end:)`` when `lo` comes after `hi`.
    /// - Complexity: O(log *n* + *r*), *r* being the number of events.
    @inlinable public func transitions(lo: Int, hi: Int) throws(RangeableError) -> [TransitionEvent<Element>] {
        transitions(over: try ClosedRange(start: lo, end: hi))
    }
}
