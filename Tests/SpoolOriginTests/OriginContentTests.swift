import SpoolCore
import SpoolSystem
import SpoolTesting
import Testing

/// The made-up bytes that every other test relies on.
struct OriginContentTests {
    let content = OriginContent(seed: 3)

    @Test func `a stretch is the same bytes, wherever it begins and ends`() {
        let single = (0..<64).map { content.byte(at: $0) }
        for lower in 0..<24 {
            for count in 0..<(64 - lower) {
                #expect(content.bytes(at: Int64(lower), count: count) == Array(single[lower..<lower + count]))
            }
        }
    }

    @Test func `the bytes far behind 4 GiB are as good as the first`() {
        let offset: Int64 = 20 << 30
        #expect(content.bytes(at: offset + 3, count: 100).first == content.byte(at: offset + 3))
        #expect(content.bytes(at: offset, count: 4096) != content.bytes(at: 0, count: 4096))
    }

    @Test func `a wrong byte is found where it is`() {
        for lower in 0..<9 {
            let right = content.bytes(at: Int64(lower), count: 40)
            #expect(right.withUnsafeBytes { content.firstDifference(in: $0, at: Int64(lower)) } == nil)
            for wrong in right.indices {
                var bytes = right
                bytes[wrong] ^= 0x10
                #expect(bytes.withUnsafeBytes { content.firstDifference(in: $0, at: Int64(lower)) } == wrong)
            }
        }
    }

    @Test func `no block of another place or another seed looks the same`() {
        var seen: Set<[UInt8]> = []
        for seed in 0..<8 {
            for block in 0..<512 { seen.insert(OriginContent(seed: UInt64(seed)).bytes(at: Int64(block) * 8, count: 8)) }
        }
        #expect(seen.count == 8 * 512)
    }
}
