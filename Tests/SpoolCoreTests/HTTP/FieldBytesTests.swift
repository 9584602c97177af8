import SpoolCore
import Testing

/// Field values are bytes, whatever their encoding.
struct FieldBytesTests {
    private static let special: [UInt8] = [0x41, 0x80, 0x8F, 0xBA, 0xBB, 0xC3, 0xE9, 0xF4]

    @Test(arguments: [
        [], Array("plain".utf8), Array("Smørebrød".utf8), [0x52, 0xE9], [0xE9], [0xC3], [0xC3, 0xA9, 0xE9], [0xFF, 0xFE, 0x00],
        // The UTF-8 of the characters that stand for bytes, and of their neighbours.
        Array("\u{10FE80}".utf8), Array("\u{10FEFF}\u{10FE7F}\u{10FF00}".utf8), [0xF4, 0x8F, 0xBA, 0x80, 0xE9],
    ])
    func `a value is sent with the bytes that came`(bytes: [UInt8]) {
        #expect(String(fieldBytes: bytes).fieldBytes == bytes)
    }

    @Test func `each short value keeps its bytes, and different ones stay different`() {
        var shorter: [[UInt8]] = [[]], all: [String: [UInt8]] = [:]
        for _ in 1...4 {
            shorter = shorter.flatMap { value in Self.special.map { value + [$0] } }
            for bytes in shorter {
                let text = String(fieldBytes: bytes)
                #expect(text.fieldBytes == bytes)
                #expect(all.updateValue(bytes, forKey: text) == nil)
            }
        }
    }

    @Test func `UTF-8 is its own text`() {
        #expect(String(fieldBytes: Array("Smørebrød".utf8)) == "Smørebrød")
    }
}
