import Spool
import SpoolCore
import SpoolTestSupport
import SpoolTesting
import Testing

/// How received bytes are written to a resource's file.
@Suite struct `Received bytes on their way to the disk` {
    /// The part that a fetch keeps outside the buffer pool.
    private static let blockBytes = 65_536
    private static let pieceBytes: Int64 = 1 << 20
    private let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 1, length: 5 * pieceBytes + 70_000)

    /// Most chunk sizes leave a buffer partly filled. A quota of half a MiB makes buffers of one
    /// block.
    @Test(arguments: [16_000, 48 << 10, 65_000, 65_536], [512 << 10, 1 << 30])
    func `a fetch goes on with a single buffer, for every chunk size`(chunkBytes: Int, quotaBytes: Int64) throws {
        let stored = OriginBehaviour.slow(chunkBytes: chunkBytes...chunkBytes)
        for behaviour in [stored, .fields(["Cache-Control": "no-store"], stored)] {
            let stage = try LaneStage(
                [film],
                configuration: { configuration in
                    configuration.fetching.bufferCount = 1
                    configuration.limits.quotaBytes = quotaBytes
                }, script: { _, _ in behaviour })
            let bytes = try stage.play(film, steps: 10_000)
            #expect(bytes.count == Int(film.length), "\(behaviour)")
            #expect(bytes.withUnsafeBytes { film.content.firstDifference(in: $0, at: 0) } == nil)
            stage.simulator.shutdown()
        }
    }

    @Test func `received bytes are written in pieces that end at multiples of a MiB`() throws {
        let stage = try LaneStage([film], isRecording: true)
        #expect(try stage.play(film).count == Int(film.length))
        stage.simulator.advance(by: .seconds(2))
        let large = stage.disk.operations.compactMap { operation -> ByteRange? in
            guard case .write(_, let offset, let bytes) = operation, bytes.count > Self.blockBytes, offset < film.length else { return nil }
            return bytes == film.content.bytes(at: offset, count: bytes.count) ? ByteRange(offset, offset + Int64(bytes.count)) : nil
        }
        #expect(large.count >= 4)
        for piece in large {
            #expect(piece.upperBound % Self.pieceBytes == 0 || piece.upperBound == film.length, "\(piece)")
        }
        stage.simulator.shutdown()
    }
}
