/// The field `Range` of a request in bytes (RFC 9110 §14.2).
package struct RangeHeader: Hashable, Sendable {
    /// One range as the client named it (RFC 9110 §14.1.2).
    package enum Spec: Hashable, Sendable {
        /// `first-last`, both included; `first <= last`.
        case bounded(first: Int64, last: Int64)
        /// `first-`: from there to the end.
        case from(first: Int64)
        /// `-count`: the last `count` bytes.
        case suffix(count: Int64)
    }

    /// The ranges in the order of the request; at least one, at most `maxSpecs`.
    package let specs: [Spec]

    /// The most ranges that are served. A field with more is ignored, so that no client can make
    /// the proxy send thousands of overlapping parts (RFC 9110 §17.15).
    package static let maxSpecs = 64

    /// Reads a field value.
    ///
    /// Positions and counts beyond `ByteRange.maximumOffset` are clamped to it, which is beyond the
    /// end of every representation.
    /// - Returns: nil if the field must be ignored: another unit, a syntax error, a last position
    ///   before the first, or too many ranges (RFC 9110 §14.2).
    package init?(_ value: String) {
        var scanner = ByteScanner(value)
        scanner.skipWhitespace()
        guard scanner.take(word: "bytes"), scanner.take(.equals) else { return nil }
        guard let specs = Self.specs(&scanner), !specs.isEmpty else { return nil }
        self.specs = specs
    }

    /// Reads the ranges of a request.
    ///
    /// `Range` is not a list field: two lines of it are ignored unless they are equal.
    /// - Returns: nil if the request has no `Range`, or one that must be ignored.
    package init?(_ fields: HTTPFields) {
        guard let value = fields.single(.range).value else { return nil }
        self.init(value)
    }

    /// Creates the request for one range.
    package init(_ range: ByteRange) {
        specs = [.bounded(first: range.lowerBound, last: range.upperBound - 1)]
    }

    /// The field value to send.
    package var fieldValue: String {
        "bytes=" + specs.map(\.text).joined(separator: ", ")
    }

    // MARK: Parsing

    private static func specs(_ scanner: inout ByteScanner) -> [Spec]? {
        var specs: [Spec] = []
        while true {
            scanner.skipWhitespace()
            // Empty list elements are skipped (RFC 9110 §5.6.1.2).
            if scanner.take(.comma) { continue }
            guard !scanner.isAtEnd else { return specs }
            guard specs.count < maxSpecs, let spec = spec(&scanner) else { return nil }
            specs.append(spec)
            scanner.skipWhitespace()
            guard scanner.isAtEnd || scanner.next == .comma else { return nil }
        }
    }

    private static func spec(_ scanner: inout ByteScanner) -> Spec? {
        let bound = ByteRange.maximumOffset
        guard let first = scanner.saturatingNumber() else {
            guard scanner.take(.minus) else { return nil }
            return scanner.saturatingNumber().map { .suffix(count: min($0, bound)) }
        }
        guard scanner.take(.minus) else { return nil }
        guard let last = scanner.saturatingNumber() else { return .from(first: min(first, bound)) }
        return first <= last ? .bounded(first: min(first, bound), last: min(last, bound)) : nil
    }

    // MARK: Resolving

    /// Whether all ranges begin beyond `ByteRange.maximumOffset`, so that no representation has a
    /// byte of them.
    package var isBeyondBound: Bool {
        specs.allSatisfy { ($0.first ?? 0) >= ByteRange.maximumOffset }
    }

    /// Resolves the ranges against a representation of `length` bytes.
    ///
    /// Ranges that overlap or touch become one, at the place of the first of them (RFC 9110
    /// §15.3.7.2). Otherwise the order of the request stays. Ranges beyond the end are left out.
    package func resolve(length: Int64) -> RangeResolution {
        // An empty representation has no part that a Content-Range could name. The field may be
        // ignored (RFC 9110 §14.2).
        guard length > 0 else { return .whole }
        let ranges = Self.coalesced(specs.compactMap { $0.range(length: length) })
        return ranges.isEmpty ? .unsatisfiable : .ranges(ranges)
    }

    /// The same bytes in ranges that neither overlap nor touch.
    private static func coalesced(_ ranges: [ByteRange]) -> [ByteRange] {
        var result: [ByteRange] = []
        for range in ranges {
            let touching = result.indices.filter { result[$0].touches(range) }
            guard let first = touching.first else {
                result.append(range)
                continue
            }
            result[first] = touching.reduce(range) { $0.hull(result[$1]) }
            for index in touching.dropFirst().reversed() { result.remove(at: index) }
        }
        return result
    }
}

/// The ranges of a request, resolved against one representation.
package enum RangeResolution: Hashable, Sendable {
    /// These bytes, all inside the representation; at least one range. Respond with 206.
    case ranges([ByteRange])
    /// No range has a byte. Respond with 416 and `bytes */length`.
    case unsatisfiable
    /// Respond as if there were no `Range`.
    case whole
}

extension RangeHeader.Spec {
    /// The first position; nil when the range counts from the end.
    package var first: Int64? {
        switch self {
        case .bounded(let first, _), .from(let first): first
        case .suffix: nil
        }
    }

    /// The bytes of a representation of `length` bytes, clipped to it.
    /// - Returns: nil if there are none.
    func range(length: Int64) -> ByteRange? {
        switch self {
        case .bounded(let first, let last): ByteRange(first, last < length ? last + 1 : length)
        case .from(let first): ByteRange(first, length)
        case .suffix(let count): ByteRange(max(0, length - count), length)
        }
    }

    fileprivate var text: String {
        switch self {
        case .bounded(let first, let last): "\(first)-\(last)"
        case .from(let first): "\(first)-"
        case .suffix(let count): "-\(count)"
        }
    }
}

extension ByteRange {
    fileprivate func touches(_ other: ByteRange) -> Bool {
        lowerBound <= other.upperBound && other.lowerBound <= upperBound
    }

    /// The smallest range that contains both.
    fileprivate func hull(_ other: ByteRange) -> ByteRange {
        ByteRange(lower: min(lowerBound, other.lowerBound), upper: max(upperBound, other.upperBound))
    }
}
