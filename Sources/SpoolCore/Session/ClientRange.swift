/// The range for which the client of a door asked, as far as it is not answered yet.
package enum ClientRange: Hashable, Sendable {
    /// The client named no range.
    case whole
    /// The bytes from `lower` on, up to `upper` or the end.
    case part(lower: Int64, upper: Int64?)

    /// The value of `Range`, or nil for the whole.
    package var fieldValue: String? {
        switch self {
        case .whole: nil
        case .part(let lower, let upper): upper.map { "bytes=\(lower)-\($0 - 1)" } ?? "bytes=\(lower)-"
        }
    }
}
