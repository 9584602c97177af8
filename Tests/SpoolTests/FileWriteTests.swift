import Spool
import SpoolCore
import SpoolTesting
import Testing

/// How received bytes come to a resource's file.
@Suite struct `Received bytes on their way to the disk` {
    /// What a fetch keeps outside the buffer pool.
    private static let blockBytes = 65_536
    private static let pieceBytes: Int64 = 1 << 20
    private let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 1, length: 5 * pieceBytes + 70_000)

    @Test func `are written in large pieces that end at multiples of a MiB, which the kernel keeps as large blocks`() throws {
        let stage = try LaneStage([film], isRecording: true)
        #expect(try stage.play(film) == film.content.bytes(at: 0, count: Int(film.length)))
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
