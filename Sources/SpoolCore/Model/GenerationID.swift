/// The number of one stored version of one resource. A store never uses a number twice.
public struct GenerationID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number itself.
    public let rawValue: Int64
    /// Creates the identity with this number.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Whether the first generation has the smaller number.
    public static func < (a: GenerationID, b: GenerationID) -> Bool { a.rawValue < b.rawValue }
    /// The number after a `g`.
    public var description: String { "g\(rawValue)" }
}
