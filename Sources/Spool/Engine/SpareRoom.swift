/// The room that a store has left without an eviction.
package struct SpareRoom: Sendable {
    /// The bytes; nil for no limit.
    package var bytes: Int64?
    /// The number of resources; nil for no limit.
    package var count: Int?
}
