public import Intervals

/// A container of elements, each of which is active at a set of integer coordinates, as the
/// Rangeable RFC v2 defines it.
///
/// The coordinates of an element are stored as closed intervals, merged where they overlap or
/// touch. Queries return the intervals of an element, the elements at a coordinate, or the events
/// in a range of coordinates. Elements always come in the order of their first insertion.
///
///     var styles = Rangeable<String>()
///     try styles.insert("bold", start: 2, end: 5)
///     try styles.insert("italic", start: 3, end: 8)
///     try styles.insert("bold", start: 6, end: 7)   // touches 2...5
///     styles.getRange(of: "bold")                   // [2...7]
///     styles[4].objs                                // ["bold", "italic"]
///
/// A value type: a copy is O(1), and the first change of a copy O(*e*). Reading changes nothing, so
/// several threads may read one value at the same time. In the complexities, *n* is the number of
/// all intervals and *e* that of elements.
public struct Rangeable<Element: Hashable> {
    /// The elements in the order of their first insertion, each at its serial; nil where one was
    /// removed.
    @usableFromInline var members: [Member?] = []
    @usableFromInline var serials: [Element: Int] = [:]
    @usableFromInline var boundaries = BoundaryIndex()
    @usableFromInline var changes = 0

    @usableFromInline struct Member {
        @usableFromInline let element: Element
        @usableFromInline var intervals = IntervalSet<Int>()

        @inlinable init(_ element: Element) { self.element = element }
    }

    /// An empty container.
    @inlinable public init() {}

    /// An empty container.
    ///
    ///     Rangeable<String>.empty().isEmpty  // true
    @inlinable public static func empty() -> Rangeable { Rangeable() }

    // MARK: Contents

    /// The number of elements, each counted once however many intervals it has.
    ///
    ///     styles.count  // 2
    /// - Complexity: O(1).
    @inlinable public var count: Int { serials.count }

    /// Whether every element is inactive everywhere.
    ///
    ///     Rangeable<String>().isEmpty  // true
    /// - Complexity: O(1).
    @inlinable public var isEmpty: Bool { serials.isEmpty }

    /// The number of calls that changed the container. A call without effect does not count.
    ///
    ///     let before = styles.version
    ///     try styles.insert("bold", start: 2, end: 3)   // is active there
    ///     styles.version == before                      // true
    /// - Complexity: O(1).
    @inlinable public var version: Int { changes }

    /// Returns a container with the same elements, intervals and version, independent of this one.
    /// Assignment has the same effect.
    ///
    ///     var draft = styles.copy()
    ///     draft.removeAll()   // leaves `styles` as it is
    /// - Complexity: O(1).
    @inlinable public func copy() -> Rangeable { self }

    // MARK: Insertion

    /// Makes `element` active from `start` through `end`.
    ///
    /// The interval is merged with those of the same element that it overlaps or touches. A new
    /// element comes after all others.
    ///
    ///     try styles.insert("bold", start: 2, end: 5)
    /// - Throws: ``RangeableError/invalidInterval(start:end:)`` when `start` comes after `end`.
    /// - Complexity: O(log *n*), amortised over the intervals that become one.
    @inlinable public mutating func insert(_ element: Element, start: Int, end: Int) throws(RangeableError) {
        let interval = try ClosedRange(start: start, end: end)
        note(insert(element, interval))
    }

    /// Makes `element` active over `interval`.
    /// - Returns: whether that changed something.
    @inlinable mutating func insert(_ element: Element, _ interval: ClosedRange<Int>) -> Bool {
        let serial = serials[element] ?? append(element)
        if members[serial]!.intervals.insertIfApart(interval) {
            boundaries.insert(interval, of: serial)
            return true
        }
        let touched = members[serial]!.intervals.members(overlapping: interval.widened)
        let merged = touched.reduce(interval) { $0.hull($1) }
        if touched.first == merged { return false }
        members[serial]!.intervals.insert(interval)
        boundaries.replace(touched, with: CollectionOfOne(merged), of: serial)
        return true
    }

    /// Adds a new element without intervals, and returns its serial.
    @inlinable mutating func append(_ element: Element) -> Int {
        let serial = members.count
        serials[element] = serial
        members.append(Member(element))
        return serial
    }

    /// Counts all changes of one call as one.
    @inlinable mutating func note(_ hasChanged: Bool) {
        if hasChanged { changes &+= 1 }
    }
}

extension Rangeable: Sendable where Element: Sendable {}
extension Rangeable.Member: Sendable where Element: Sendable {}
