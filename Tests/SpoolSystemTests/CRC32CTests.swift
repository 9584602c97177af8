import SpoolSystem
import Testing

@Suite struct CRC32CTests {
    private func check(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { CRC32C.of($0) } }
    private func check(_ bytes: [UInt8], by method: CRC32C.Method) -> UInt32 { bytes.withUnsafeBytes { CRC32C.of($0, by: method) } }

    /// RFC 3720 §B.4, which prints the checksums in the order of their bytes on the wire.
    @Test func `the checksums match the examples of RFC 3720`() {
        let read: [UInt8] = [
            0x01, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0,
            0,
            0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0,
        ]
        let examples: [([UInt8], UInt32)] = [
            ([UInt8](repeating: 0, count: 32), 0x8A91_36AA), ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
            (Array(0..<32), 0x46DD_794E), ((0..<32).reversed(), 0x113F_DB5C), (read, 0xD996_3A56),
            (Array("123456789".utf8), 0xE306_9283), ([], 0),
        ]
        for (bytes, expected) in examples {
            #expect(check(bytes) == expected, "\(bytes)")
            for method in CRC32C.methods { #expect(check(bytes, by: method) == expected, "\(method): \(bytes)") }
        }
    }

    /// Lengths on both sides of eight bytes, a register, a step and three lanes, which are the
    /// units of the methods, from every alignment.
    @Test func `all methods of this CPU agree at every length and alignment`() {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<150_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let borders = [65_519, 65_520, 65_521, 65_535, 65_536, 65_537, 131_039, 131_040, 140_000]
        let lengths = Array(0...40) + [255, 256] + Array(500...530) + Array(760...780) + [4095, 4096] + borders
        for length in lengths {
            for start in 0..<8 {
                let part = Array(bytes[start..<start + length])
                let expected = check(part, by: .table)
                for method in CRC32C.methods { #expect(check(part, by: method) == expected, "\(method): \(length) bytes from \(start)") }
            }
        }
    }

    @Test func `a checksum continues from another one`() {
        let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let whole = check(bytes)
        for cut in [0, 1, 7, 8, 9, 65_520, 65_536, 69_999, 70_000] {
            let first = check(Array(bytes[..<cut])), rest = Array(bytes[cut...])
            #expect(rest.withUnsafeBytes { CRC32C.of($0, after: first) } == whole, "cut at \(cut)")
            for method in CRC32C.methods {
                #expect(rest.withUnsafeBytes { CRC32C.of($0, after: first, by: method) } == whole, "cut at \(cut), \(method)")
            }
            #expect(CRC32C.combined(first, check(rest), secondCount: Int64(rest.count)) == whole, "combined at \(cut)")
        }
    }

    @Test func `one changed bit changes the checksum`() {
        var bytes = [UInt8](repeating: 0xA5, count: 65_536)
        let before = check(bytes)
        for position in stride(from: 0, to: bytes.count, by: 997) {
            bytes[position] ^= 1
            #expect(check(bytes) != before, "bit 0 of byte \(position)")
            bytes[position] ^= 1
        }
        #expect(check(bytes) == before)
    }
}
