/// The reason why a ``Rangeable`` rejected a call. A rejected call leaves the value as it was.
///
///     do { try styles.insert("bold", start: 5, end: 2) } catch RangeableError.invalidInterval(let start, let end) {
///         print("\(start) comes after \(end)")
///     }
public enum RangeableError: Error, Hashable, Sendable {
    /// The interval ends before it begins.
    case invalidInterval(start: Int, end: Int)
}

extension RangeableError: CustomStringConvertible {
    /// The rejected values, and a remedy.
    public var description: String {
        switch self {
        case .invalidInterval(let start, let end):
            "an interval can't begin at \(start) and end at \(end), before it; swap them if that is meant"
        }
    }
}
