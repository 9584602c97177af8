/// The number of one stored version of one resource; never used twice in a store.
public struct GenerationID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public static func < (a: GenerationID, b: GenerationID) -> Bool { a.rawValue < b.rawValue }
    public var description: String { "g\(rawValue)" }
}
