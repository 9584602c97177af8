#if !os(watchOS)
import Spool
public import SpoolCore

/// The stored bytes of an asset, and the origin of the bytes that its player got.
public struct AssetProgress: Hashable, Sendable {
    /// The stored byte ranges, as a scrub bar shows them.
    public var cached = ByteRangeSet()
    /// The length of the resource in bytes, once it is known.
    public var length: Int64?
    /// The bytes that the player got and that were stored before the asset asked for them.
    public var bytesFromCache: Int64 = 0
    /// The bytes that the player got and that were fetched since the asset began.
    public var bytesFromOrigin: Int64 = 0

    /// Creates the progress of an asset without stored bytes.
    public init() {}

    init(of file: CompleteFile) {
        length = file.representation.length
        cached = ByteRangeSet(length.flatMap { ByteRange(0, $0) }.map { [$0] } ?? [])
    }

    /// The stored part of the whole, from 0 to 1, or 0 while the length is unknown.
    public var fractionCached: Double {
        guard let length, length > 0 else { return 0 }
        return min(1, Double(cached.totalBytes) / Double(length))
    }

    /// Whether every byte is stored.
    public var isComplete: Bool { length.map { $0 > 0 && cached.totalBytes >= $0 } == true }

    /// The part of the player's bytes that needed no origin, from 0 to 1, or 0 before any.
    public var hitRatio: Double {
        let all = bytesFromCache + bytesFromOrigin
        return all > 0 ? Double(bytesFromCache) / Double(all) : 0
    }

    /// The stored part in whole percent. 100 only if every byte is stored.
    package var percentCached: Int { isComplete ? 100 : min(99, Int(fractionCached * 100)) }

    /// The stored ranges in a bar of this width. Each is at least one point wide, and stays inside
    /// the bar.
    package func stretches(inWidth width: Double) -> [ClosedRange<Double>] {
        guard width >= 1 else { return [] }
        return cachedFractions.map { stretch in
            let lower = min(stretch.lowerBound * width, width - 1)
            return lower...min(width, max(stretch.upperBound * width, lower + 1))
        }
    }

    /// The stored ranges as parts of the whole, from 0 to 1, for drawing.
    public var cachedFractions: [ClosedRange<Double>] {
        guard let length, length > 0 else { return [] }
        return cached.ranges.map { range in
            let lower = min(1, Double(range.lowerBound) / Double(length))
            return lower...max(lower, min(1, Double(range.upperBound) / Double(length)))
        }
    }
}
#endif
