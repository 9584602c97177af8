/// Finds the fields that change a body although `Vary` does not name them.
///
/// With a strong validator, two players whose fields differ would replace each other's version at
/// every gap, and each byte would be fetched many times. So if the answer to a gap replaces the
/// version twice within ten minutes, each time for other values of the same fields, these fields
/// select from then on.
package struct SilentSelection: Sendable {
    /// The longest time between the two changes.
    private static let interval: Nanoseconds = .seconds(600)
    /// The most fields that are found. A player sends a handful of its own.
    private static let maxNames = 4

    /// The fields of the client for which the version was fetched; nil if that is not known.
    private var fields: RequestFields?
    private var last: (time: MonotonicInstant, names: Set<String>)?
    /// The names of the fields that select, in lower case and sorted.
    package private(set) var names: [String] = []

    /// Creates a value for a resource whose fields do not select.
    package init() {}

    /// Notes that a response became the version.
    ///
    /// - Parameters:
    ///   - client: The fields of the client for which it was fetched, or nil if that is not known.
    ///   - isGap: Whether bytes of another version were asked for.
    package mutating func versionChanged(for client: RequestFields?, isGap: Bool, now: MonotonicInstant) {
        defer { fields = client }
        guard isGap, let fields, let client else { return }
        let differing = fields.differingNames(from: client)
        guard !differing.isEmpty else { return }
        if let last, now - last.time <= Self.interval, !last.names.isDisjoint(with: differing) {
            names = Array(last.names.intersection(differing).sorted().prefix(Self.maxNames))
        }
        last = (now, differing)
    }
}
