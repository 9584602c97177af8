/// The elements that are active at one coordinate (Rangeable RFC v2, §3.3).
///
///     styles[4].objs  // ["bold", "italic"]
public struct Slot<Element: Hashable> {
    /// The active elements, in the order of their first insertion into the container.
    public let objs: [Element]

    /// Creates a slot with these elements.
    @inlinable public init(objs: [Element]) { self.objs = objs }

    /// Whether every element is inactive.
    @inlinable public var isEmpty: Bool { objs.isEmpty }

    /// The number of active elements.
    @inlinable public var count: Int { objs.count }
}

extension Slot: Hashable {}
extension Slot: Sendable where Element: Sendable {}
