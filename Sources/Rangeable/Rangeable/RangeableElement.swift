/// An element that returns its own intervals: ``Rangeable/getRange(of:)`` seen from the element.
///
///     struct Style: RangeableElement { var name: String }
///     let bold = Style(name: "bold")
///     var styles = Rangeable<Style>()
///     try styles.insert(bold, start: 2, end: 5)
///     bold.getRange(from: styles)  // [2...5]
///
/// A type needs at most `Hashable` to be an element; the conformance adds this method.
public protocol RangeableElement: Hashable {
    /// Returns the intervals where this element is active in `container`, in ascending order. Empty
    /// when it was never inserted.
    func getRange(from container: Rangeable<Self>) -> [Interval]
}

extension RangeableElement {
    /// Returns the intervals where this element is active in `container`, in ascending order. Empty
    /// when it was never inserted.
    ///
    /// - Complexity: O(*r*), *r* being the number of results.
    @inlinable public func getRange(from container: Rangeable<Self>) -> [Interval] {
        container.getRange(of: self)
    }
}
