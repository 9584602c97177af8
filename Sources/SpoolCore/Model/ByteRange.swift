/// A half-open range of byte offsets, `[lowerBound, upperBound)`, that is never empty.
///
/// Offsets count from 0 at the first byte of a representation.
public struct ByteRange: Hashable, Sendable {
    /// The largest offset and the largest length that Spool counts with: 2^60 bytes, an exbibyte.
    ///
    /// Parsers of fields and all doors clamp larger numbers to this one. A sum of a few offsets
    /// therefore fits into `Int64`.
    package static var maximumOffset: Int64 { 1 << 60 }

    /// The offset of the first byte.
    public let lowerBound: Int64
    /// The offset after the last byte.
    public let upperBound: Int64

    /// The range `[lower, upper)`.
    /// - Returns: nil if the range would be empty, reversed or negative.
    public init?(_ lower: Int64, _ upper: Int64) {
        guard lower >= 0, lower < upper else { return nil }
        lowerBound = lower
        upperBound = upper
    }

    /// The bytes of a Swift `Range`.
    /// - Returns: nil if the range is empty or negative.
    public init?(_ range: Range<Int64>) {
        self.init(range.lowerBound, range.upperBound)
    }

    /// The bytes from `first` to `last`, both included, as fields and manifests name them.
    ///
    /// A last position beyond `maximumOffset` is clamped to that bound.
    /// - Returns: nil if the range is reversed or negative, or begins at that bound or beyond it.
    package init?(first: Int64, last: Int64) {
        self.init(first, min(last, Self.maximumOffset - 1) + 1)
    }

    /// The `count` bytes from `offset` on, as playlists name them.
    ///
    /// An end beyond `maximumOffset` is clamped to that bound.
    /// - Returns: nil if the range is empty or negative, or begins at that bound or beyond it.
    package init?(offset: Int64, count: Int64) {
        guard offset >= 0, count > 0 else { return nil }
        self.init(offset, min(offset.addingSaturated(count), Self.maximumOffset))
    }

    /// The range `[lower, upper)`, for bounds that are known to be in order.
    ///
    /// - Precondition: `0 <= lower < upper`.
    package init(lower: Int64, upper: Int64) {
        precondition(lower >= 0 && lower < upper, "a byte range is never empty, reversed or negative: \(lower)..<\(upper)")
        lowerBound = lower
        upperBound = upper
    }

    /// The number of bytes; at least 1.
    public var count: Int64 { upperBound - lowerBound }

    /// Whether `offset` lies in the range.
    public func contains(_ offset: Int64) -> Bool {
        offset >= lowerBound && offset < upperBound
    }

    /// Whether every byte of `other` lies in the range.
    public func contains(_ other: ByteRange) -> Bool {
        other.lowerBound >= lowerBound && other.upperBound <= upperBound
    }

    /// Whether the two ranges share a byte.
    package func overlaps(_ other: ByteRange) -> Bool {
        lowerBound < other.upperBound && other.lowerBound < upperBound
    }

    /// The bytes that both ranges have, or nil if they share none.
    public func intersection(_ other: ByteRange) -> ByteRange? {
        ByteRange(max(lowerBound, other.lowerBound), min(upperBound, other.upperBound))
    }
}

extension ByteRange: CustomStringConvertible {
    /// The bounds in the form `0..<65536`.
    public var description: String { "\(lowerBound)..<\(upperBound)" }
}
