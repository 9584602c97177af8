package import SpoolCore

/// The bytes of one answer of a bucket on their way to a reader: a chunk is collected, verified,
/// and handed out in parts.
///
/// It holds one chunk. While the reader takes no bytes, the transport is paused and offers the same
/// bytes again; those that the chunk has already are skipped then.
package struct BucketCopy: Sendable {
    private let manifest: BucketManifest
    private let wanted: ByteRange
    /// The range that the bucket was asked for.
    package let chunks: ByteRange
    /// The offset of the chunk that is collected or handed out.
    private var chunkLower: Int64
    private var chunk: [UInt8] = []
    /// The bytes of a verified chunk that still go to the reader.
    private var ready = 0..<0
    /// The bytes at the beginning of the next offers that were taken before.
    private var skipped = 0

    /// The most bytes that a reader gets in one call.
    private static let partBytes = 64 << 10

    /// Creates a copy of a range.
    package init(_ manifest: BucketManifest, _ wanted: ByteRange) {
        self.manifest = manifest
        self.wanted = wanted
        chunks = manifest.chunks(of: wanted)
        chunkLower = chunks.lowerBound
    }

    private var chunkCount: Int { Int(min(BucketManifest.chunkBytes, chunks.upperBound - chunkLower)) }
    /// Whether all bytes were handed out.
    package var isDone: Bool { chunkLower >= chunks.upperBound && ready.isEmpty }

    /// Returns how many bytes at the beginning of an offer were taken before.
    package mutating func skip(_ offered: Int) -> Int {
        let count = min(skipped, offered)
        skipped -= count
        return count
    }

    /// Notes that the reader pauses, and that the transport will offer this many taken bytes again.
    package mutating func paused(afterTaking count: Int) { skipped += count }

    /// Takes bytes for the chunk.
    ///
    /// - Returns: The number of bytes taken, which is 0 once all have come.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(bytes.count, chunkCount - chunk.count)
        guard count > 0 else { return 0 }
        if chunk.isEmpty { chunk.reserveCapacity(chunkCount) }
        chunk.append(contentsOf: bytes.prefix(count))
        return count
    }

    /// Whether a chunk is complete and not verified yet.
    package var isFull: Bool { ready.isEmpty && chunkLower < chunks.upperBound && chunk.count == chunkCount }

    /// Compares a full chunk with its digest, and prepares its wanted bytes for the reader.
    package mutating func verify() -> Bool {
        guard chunk.withUnsafeBytes({ manifest.verifies($0, at: chunkLower) }) else { return false }
        let lower = max(0, wanted.lowerBound - chunkLower), upper = min(Int64(chunk.count), wanted.upperBound - chunkLower)
        ready = Int(lower)..<Int(upper)
        return true
    }

    /// Calls `body` with the next verified bytes, or returns nil if there are none.
    package func next<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> (count: Int, result: Result)? {
        guard !ready.isEmpty else { return nil }
        let part = ready.prefix(Self.partBytes)
        return (part.count, chunk.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[part])) })
    }

    /// Notes that the reader took bytes. After the last of a chunk, the next one is collected.
    package mutating func handedOut(_ count: Int) {
        ready = ready.dropFirst(count)
        guard ready.isEmpty else { return }
        chunkLower += Int64(chunk.count)
        chunk.removeAll(keepingCapacity: chunkLower < chunks.upperBound)
    }
}
