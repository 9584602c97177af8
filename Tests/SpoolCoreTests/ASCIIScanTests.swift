import SpoolCore
import Testing

/// Tests the search by words beside one by bytes.
struct ASCIIScanTests {
    @Test(arguments: [0x20...0x7E, 0x21...0x7E, 0...0x7F, 0x30...0x39] as [ClosedRange<UInt8>])
    func `every byte at every place is found as by a search by bytes`(_ range: ClosedRange<UInt8>) {
        for length in 0...36 {
            for place in 0..<length {
                for byte in UInt8.min...UInt8.max {
                    var bytes = [UInt8](repeating: range.lowerBound, count: length)
                    bytes[place] = byte
                    if place + 3 < length { bytes[place + 3] = 0x80 }
                    for start in [0, place, place + 1] {
                        let found = bytes.withUnsafeBytes { $0.firstIndex(outside: range, from: start) }
                        #expect(found == bytes[start...].firstIndex { !range.contains($0) })
                        let either = bytes.withUnsafeBytes { $0.firstIndex(outside: range, orOf: 0x2E, from: start) }
                        #expect(either == bytes[start...].firstIndex { $0 == 0x2E || !range.contains($0) })
                    }
                }
            }
        }
    }

    @Test func `a byte is found at its first place behind the beginning`() {
        for length in Array(0...36) + Array(127...170) {
            for place in 0..<length {
                var bytes = [UInt8](repeating: 0x0B, count: length)
                bytes[place] = 0x0A
                if place + 2 < length { bytes[place + 2] = 0x0A }
                if place + 1 < length { bytes[place + 1] = 0x3F }
                for start in 0...length {
                    let found = bytes.withUnsafeBytes { $0.firstIndex(of: 0x0A, from: start) }
                    #expect(found == bytes[start...].firstIndex(of: 0x0A))
                    let any = bytes.withUnsafeBytes { $0.firstIndex(of: 0x23, 0x3F, 0x0A, from: start) }
                    #expect(any == bytes[start...].firstIndex { [0x23, 0x3F, 0x0A].contains($0) })
                }
            }
        }
    }

    @Test func `a beginning is found as by a comparison of bytes`() {
        let text = Array("0123456789abcdefghij".utf8)
        for start in 0...text.count {
            for length in 0...text.count + 1 {
                for changed in -1..<min(length, 2 * text.count - start) {
                    var other = Array((text + text).dropFirst(start).prefix(length))
                    if changed >= 0 { other[changed] ^= 1 }
                    let begins = text.withUnsafeBytes { text in other.withUnsafeBytes { text.begins(with: $0, at: start) } }
                    #expect(begins == text[start...].starts(with: other))
                }
            }
        }
    }
}
