/// A place where an element becomes active or ceases to be (Rangeable RFC v2, §3.5).
///
///     for event in styles.transitions(over: 0...99) {
///         html += event.kind == .open ? "<\(event.element)>" : "</\(event.element)>"
///     }
public struct TransitionEvent<Element: Hashable> {
    /// The first active coordinate of an opening; the first inactive coordinate of a closing, one
    /// more than its last active one. Nil, meaning after every integer, for the closing of an
    /// element that is active at `Int.max`: it never ceases to be active (§4.7).
    public let coordinate: Int?
    /// The kind of the event.
    public let kind: TransitionKind
    /// The element that the event is about.
    public let element: Element

    /// An event of `element` at `coordinate`.
    @inlinable public init(coordinate: Int?, kind: TransitionKind, element: Element) {
        self.coordinate = coordinate
        self.kind = kind
        self.element = element
    }
}

/// Whether an element becomes active or ceases to be.
public enum TransitionKind: Hashable, Sendable {
    /// The element becomes active.
    case open
    /// The element ceases to be active.
    case close
}

extension TransitionEvent: Hashable {}
extension TransitionEvent: Sendable where Element: Sendable {}
