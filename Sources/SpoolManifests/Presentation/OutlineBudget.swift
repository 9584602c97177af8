package import SpoolCore

/// The most that reading the outline of one manifest may cost, in bytes.
///
/// Parts share their base, and representations share the elements around them. So the work and the
/// URLs of an outline may be the square of the document.
package struct OutlineBudget {
    /// The bytes that stand for looking at one element.
    private static let bytesOfVisit = 8

    private let limit: Int
    private var left: Int

    /// Creates the budget of one manifest.
    package init(_ limits: ManifestLimits) { (limit, left) = (limits.maxOutlineBytes, limits.maxOutlineBytes) }

    /// Counts bytes of a value that is read, or of a URL that is made. Call it before the work.
    ///
    /// - Throws: `ParseError` beyond the budget.
    package mutating func spend(_ bytes: Int) throws(ParseError) {
        left -= bytes
        guard left >= 0 else { throw ParseError(offset: 0, limit: "parts whose URLs take at most \(limit) bytes") }
    }

    /// Counts a look at one element, or at several entries.
    package mutating func visit(_ count: Int = 1) throws(ParseError) { try spend(count * Self.bytesOfVisit) }
}
