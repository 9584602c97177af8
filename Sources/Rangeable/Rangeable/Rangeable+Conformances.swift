// Conformances to protocols of the standard library.

extension Rangeable: Sequence {
    /// Walks the elements in the order of their first insertion, each with its intervals.
    public struct Iterator: IteratorProtocol {
        @usableFromInline var members: IndexingIterator<[Member?]>

        @inlinable init(_ members: [Member?]) { self.members = members.makeIterator() }

        /// The next element and its intervals, or nil after the last.
        @inlinable public mutating func next() -> (Element, [Interval])? {
            while let member = members.next() {
                if let member { return (member.element, member.intervals.map(Interval.init)) }
            }
            return nil
        }
    }

    /// Walks the elements in the order of their first insertion, each with its intervals.
    ///
    ///     for (style, intervals) in styles { print(style, intervals) }  // bold [2...7], italic [3...8]
    /// - Complexity: O(*e* + *n*) for the whole walk.
    @inlinable public func makeIterator() -> Iterator { Iterator(members) }

    /// The number of elements.
    @inlinable public var underestimatedCount: Int { count }
}

extension Rangeable: Equatable {
    /// Whether both containers have the same elements in the same order, active at the same
    /// coordinates. The version is ignored.
    /// - Complexity: O(*e* + *n*).
    @inlinable public static func == (a: Rangeable, b: Rangeable) -> Bool {
        a.count == b.count
            && zip(a.members.lazy.compactMap { $0 }, b.members.lazy.compactMap { $0 })
                .allSatisfy { $0.element == $1.element && $0.intervals == $1.intervals }
    }
}

extension Rangeable: CustomStringConvertible {
    /// The elements with their intervals, as `[bold: [2...7], italic: [3...8]]`.
    public var description: String {
        isEmpty ? "[:]" : "[" + map { "\($0): \($1)" }.joined(separator: ", ") + "]"
    }
}
