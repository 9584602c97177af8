/// The facts about one reader that decide how it reads, as they travel from its door to its place
/// in the session.
package struct ReaderRequest: Hashable, Sendable {
    /// The offset of the first byte that the reader needs, in bytes.
    package var start: Int64
    /// The offset after the last byte; nil for the end of the resource.
    package var end: Int64?
    /// Whether the window of the reader counts before its first `step`.
    package var wantsBytes: Bool
    /// How far fetches run ahead for the reader.
    package var policy: FetchPolicy
    /// The freshness rules by which the reader may use stored bytes.
    package var rules: UseRules
    /// The web site on whose behalf it reads: the value of a browser's `Origin`; nil for a player,
    /// which belongs to no site.
    package var site: String?
    /// Whether the client can repeat the request by itself, as an HTTP client can.
    package var endsSoon = false
    /// Whether the consumer can pass on a response with any status.
    package var takesAnyStatus = false
    /// Whether the client named no range.
    package var asksWhole = false
    /// The number of last bytes that are read, if their position is not known yet. `start` is 0
    /// then.
    package var suffix: Int64?

    /// The request by which the origin is asked; nil for that of the last answer.
    package var asks: RequestSource?

    /// Creates the request of a reader of `[start, end)`.
    package init(
        start: Int64, end: Int64?, wantsBytes: Bool = true, policy: FetchPolicy = .whilePlaying, rules: UseRules = UseRules()
    ) {
        self.start = start
        self.end = end
        self.wantsBytes = wantsBytes
        self.policy = policy
        self.rules = rules
    }
}
