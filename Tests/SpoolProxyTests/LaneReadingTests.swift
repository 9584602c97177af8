import Spool
import SpoolCore
import SpoolProxy
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Bytes without a descriptor: read at once from memory, or by a lane.
@Suite(.timeLimit(.minutes(20))) struct LaneReadingTests {
    /// A body of sevens, of which the first `resident` bytes are in memory.
    private final class Sevens: StoredBytes {
        let resident: Int
        init(resident: Int) { self.resident = resident }
        var descriptor: OpenDescriptor? { nil }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
            buffer.initializeMemory(as: UInt8.self, repeating: 7)
            return buffer.count
        }

        func readResident(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
            let count = min(buffer.count, max(0, resident - Int(offset)))
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 7)
            return count
        }
    }

    private let range = ByteRange(lower: 0, upper: 1000)

    @Test func `resident bytes are ready at once, up to the first that is not`() {
        let reading = LaneReading(), bytes = Sevens(resident: 300)
        #expect(reading.readAtOnce(range, of: bytes))
        #expect(ready(reading) == 300)
        reading.consumed(100)
        #expect(ready(reading) == 200)
        reading.consumed(200)
        #expect(ready(reading) == nil)
        #expect(!reading.readAtOnce(ByteRange(lower: 300, upper: 1000), of: bytes))
        #expect(ready(reading) == nil)
    }

    @Test func `a read at once brings no more bytes than the buffer holds`() {
        let reading = LaneReading()
        #expect(reading.readAtOnce(ByteRange(lower: 0, upper: 4 << 20), of: Sevens(resident: 4 << 20)))
        #expect(ready(reading) == LaneReading.readBytes)
    }

    @Test func `bytes that are not in memory are read by the lane`() {
        let reading = LaneReading(), lane = DiskLane(name: "reads"), isDone = Awaited(false)
        defer { lane.shutdown() }
        #expect(!reading.readAtOnce(range, of: Sevens(resident: 0)))
        reading.begin(range, of: Sevens(resident: 0), on: lane) { isDone.change { $0 = true } }
        #expect(isDone.wait { $0 })
        #expect(ready(reading) == 1000)
    }

    #if os(Linux)
    @Test func `a stored encrypted film is served while the lanes are busy`() throws {
        let film = VirtualResource.film(length: 3_000_000)
        let world = try ProxyWorld([film], store: .encrypted)
        defer { world.stop() }
        #expect(try world.get(film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete }
        let mayGoOn = Awaited(false)
        defer { mayGoOn.change { $0 = true } }
        for lane in world.cache.environment.dataLanes { lane.post { _ = mayGoOn.wait { $0 } } }
        #expect(try world.get(film.target).body == film.allBytes)
        #expect(try world.get(film.target, ["Range": "bytes=70000-1999999"]).body == film.bytes(70_000..<2_000_000))
        #expect(!mayGoOn.value)
    }
    #endif

    private func ready(_ reading: LaneReading) -> Int? {
        guard case .ready(let bytes) = reading.state else { return nil }
        #expect(bytes.copy().allSatisfy { $0 == 7 })
        return bytes.count
    }
}
