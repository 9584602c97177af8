import Spool
import SpoolCore
import SpoolSystem
import SpoolTesting
import Testing

/// The memory of a response that belongs to one reader, while the version has another length.
@Suite struct OwnResponseMemoryTests {
    @Test(.timeLimit(.minutes(20)))
    func `a long response keeps its blocks after a short one has become the version`() async throws {
        let length: Int64 = 8 << 20
        let requests = Locked(0)
        let bench = try Bench(length: length) {
            let number = requests.withLock { count in
                count += 1
                return count
            }
            return number == 1
                ? .fields(["ETag": "W/\"long\""], .correct)
                : .status(200, fields: ["Content-Type": "video/mp4"], body: [UInt8](repeating: 1, count: 700))
        }
        var chunks = 0
        var position: Int64 = 44
        for try await chunk in try bench.reader().chunks(in: position..<length) {
            #expect(bench.difference(chunk, at: position) == nil)
            position += Int64(chunk.count)
            chunks += 1
            if chunks == 1 {
                for try await short in try bench.reader().chunks(in: 0..<700) { #expect(short.allSatisfy { $0 == 1 }) }
            }
        }
        #expect(position == length)
        #expect(chunks < 2000, "\(chunks) pieces of 8 MiB")
        await bench.cache.close()
    }
}
