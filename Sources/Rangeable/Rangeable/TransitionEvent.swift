/// A place where an element becomes active or ceases to be (Rangeable RFC v2, §3.5).
///
///     for event in styles.transitions(over: 0...99) {
///         html += event.kind == .open ? "<\(event.element)>" : "</\(event.element)>"
///     }
public struct TransitionEvent<Element: Hashable> {
    /// An opening's first active coordinate; a closing's first inactive one, which is one more than the last active.
    /// Nil, meaning after every integer, for an element that is active at `Int.max`: it never ceases (§4.7).
    public let coordinate: Int?
    /// What happens there.
    public let kind: TransitionKind
    /// To whom.
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
