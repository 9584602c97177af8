import Spool
import SpoolCore
import SpoolSystem
import SpoolTesting
import Testing
import WAVLevels

/// The example of a decoder that is not AVPlayer.
@Suite struct WAVLevelsTests {
    /// A second of silence, one at half of full scale, half a second at full scale; mono, 8 000
    /// samples a second.
    private static var wav: [UInt8] {
        let levels: [(count: Int, value: Int16)] = [(8000, 0), (8000, 16_384), (4000, -32_768)]
        let samples = levels.flatMap { level in (0..<level.count).flatMap { _ in bytes(level.value) } }
        var header = Array("RIFF".utf8) + bytes(Int32(36 + samples.count)) + Array("WAVEfmt ".utf8)
        header += bytes(Int32(16)) + bytes(Int16(1)) + bytes(Int16(1))
        header += bytes(Int32(8000)) + bytes(Int32(16_000)) + bytes(Int16(2)) + bytes(Int16(16))
        return header + Array("data".utf8) + bytes(Int32(samples.count)) + samples
    }

    private static func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
        (0..<value.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    @Test(.timeLimit(.minutes(20))) func `a decoder reads a file through the cache, and again without the origin`() async throws {
        let wav = Self.wav
        let bench = try Bench(
            length: 0,
            behaviour: { .status(200, fields: ["Content-Type": "audio/wav", "ETag": "\"w\"", "Accept-Ranges": "bytes"], body: wav) })
        #expect(try await levels(of: Bench.url, through: bench.cache) == [0, 0.5, 1])
        bench.origin.setOffline(true)
        #expect(try await levels(of: Bench.url, through: bench.cache) == [0, 0.5, 1])
        #expect(bench.requests.count == 1)
        await bench.cache.close()
    }
}
