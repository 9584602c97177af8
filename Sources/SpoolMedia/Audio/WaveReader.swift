import SpoolCore

/// Reads WAV files, also those of more than 4 GiB (RF64 and BW64, EBU Tech 3306, ITU-R BS.2088).
struct WaveReader: ContainerReader {
    static let forms: Set<FourCharacterCode> = ["RIFF", "RF64", "BW64"]
    /// The most chunks before the samples.
    private static let maximumChunks = 1024

    private let limits: MediaLimits
    private var offset: Int64 = 12
    private var chunks = 0
    /// Bytes a second, from the format chunk.
    private var bytesPerSecond: UInt64?

    init(limits: MediaLimits) { self.limits = limits }

    mutating func plan(_ wanted: MediaTime, _ bytes: inout KnownBytes) throws(MediaReadFailure) -> MediaPlan {
        while chunks < Self.maximumChunks {
            var header = BigEndian(try bytes.read(8, at: offset))
            guard let code = header.rest.code() else { break }
            try header.skip(4)
            let size = Int64(UInt32(try header.number(4)).byteSwapped)
            if code == "data" { return try plan(wanted, samplesAt: offset + 8, statedBytes: size, bytes) }
            if code == "fmt " {
                let format = try bytes.read(16, at: offset + 8)
                bytesPerSecond = format.dropFirst(8).prefix(4).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            }
            guard size <= limits.indexBytes else { throw .malformed("a chunk '\(code)' of \(size) bytes before the samples") }
            // Chunks begin at even offsets.
            offset += 8 + size + (size & 1)
            chunks += 1
        }
        throw .malformed("a WAV file without samples")
    }

    private func plan(
        _ wanted: MediaTime, samplesAt start: Int64, statedBytes: Int64, _ bytes: KnownBytes
    ) throws(MediaReadFailure) -> MediaPlan {
        guard let bytesPerSecond, bytesPerSecond > 0 else { throw .malformed("a WAV file without a format") }
        let end = wanted + .margin
        let needed = Int64(min(end.ticks(scale: bytesPerSecond), UInt64(ByteRange.maximumOffset - start)))
        // A size of 2^32 - 1 stands for a larger one, or for a stream of unknown length.
        let available = statedBytes == Int64(UInt32.max) ? ByteRange.maximumOffset : start + statedBytes
        let last = min(available, bytes.length ?? .max)
        let upper = min(start + needed, last)
        return MediaPlan(
            container: .wav, ranges: ByteRangeSet([ByteRange(lower: 0, upper: max(upper, 1))]), reachesEnd: start + needed >= last)
    }
}
