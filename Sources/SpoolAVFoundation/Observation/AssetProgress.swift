#if !os(watchOS)
public import SpoolCore

/// What of an asset is stored, and where the bytes came from that its player got.
public struct AssetProgress: Hashable, Sendable {
    /// The stored bytes, as ranges; what a scrub bar shows.
    public var cached = ByteRangeSet()
    /// The number of bytes of the resource, once it is known.
    public var length: Int64?
    /// Bytes that this asset's player got and that were stored before the asset asked for them.
    public var bytesFromCache: Int64 = 0
    /// Bytes that it got and that were fetched since the asset began.
    public var bytesFromOrigin: Int64 = 0

    public init() {}

    /// The stored part of the whole, from 0 to 1; 0 while the length is not known.
    public var fractionCached: Double {
        guard let length, length > 0 else { return 0 }
        return min(1, Double(cached.totalBytes) / Double(length))
    }

    /// Whether every byte is stored.
    public var isComplete: Bool { length.map { $0 > 0 && cached.totalBytes >= $0 } ?? false }

    /// The part of the player's bytes that needed no origin, from 0 to 1; 0 before any.
    public var hitRatio: Double {
        let all = bytesFromCache + bytesFromOrigin
        return all > 0 ? Double(bytesFromCache) / Double(all) : 0
    }

    /// The stored stretches as parts of the whole, from 0 to 1, for drawing.
    public var cachedFractions: [ClosedRange<Double>] {
        guard let length, length > 0 else { return [] }
        return cached.ranges.map { range in
            let lower = min(1, Double(range.lowerBound) / Double(length))
            return lower...max(lower, min(1, Double(range.upperBound) / Double(length)))
        }
    }
}
#endif
