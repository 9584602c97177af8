/// Why a ``Rangeable`` refused a call; it is unchanged then.
///
///     do { try styles.insert("bold", start: 5, end: 2) } catch RangeableError.invalidInterval(let start, let end) {
///         print("\(start) comes after \(end)")
///     }
public enum RangeableError: Error, Hashable, Sendable {
    /// The interval ends before it begins.
    case invalidInterval(start: Int, end: Int)
}

extension RangeableError: CustomStringConvertible {
    /// What was wrong, and what to do.
    public var description: String {
        switch self {
        case .invalidInterval(let start, let end):
            "an interval can't begin at \(start) and end at \(end), before it; swap them if that is meant"
        }
    }
}
