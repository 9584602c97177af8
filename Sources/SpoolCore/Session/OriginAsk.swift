/// The range, conditions and site of one origin request.
package struct OriginAsk: Hashable, Sendable {
    /// The offset of the first byte.
    package var lower: Int64
    /// The offset after the last byte; nil for an open range.
    package var upper: Int64?
    /// The value of `If-Range`, when bytes of the version are stored already.
    package var ifRange: String?
    /// The conditions of a revalidation; nil for a request for bytes.
    package var revalidation: Revalidation?
    /// Whether the request names no range and so asks for the whole.
    package var isPlain = false
    /// The number of last bytes that the request asks for, in place of `[lower, upper)`.
    package var suffix: Int64?
    /// The range for which the client of the HTTP door asked, or nil without such a client.
    package var client: ClientRange?
    /// Whether the request ends before the client's range does, and another one follows.
    package var isWindow = false
    /// Whether no reader depends on the answer: none waits, or stored bytes can be used in its
    /// place.
    package var isBrief = false
    /// The value of `Origin`; nil when the field is not sent.
    package var site: String?

    /// Creates a request for `[lower, upper)` that names its range and no site.
    package init(lower: Int64, upper: Int64?, ifRange: String?, revalidation: Revalidation? = nil) {
        self.lower = lower
        self.upper = upper
        self.ifRange = ifRange
        self.revalidation = revalidation
    }
}
