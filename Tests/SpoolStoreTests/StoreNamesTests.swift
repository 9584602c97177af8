import SpoolCore
import SpoolStore
import Testing

@Suite struct StoreNamesTests {
    @Test func `a data file lies below the hash of its key`() {
        let layout = StoreLayout(root: "/cache/")
        let hash: [UInt8] = [0xAB, 0x01, 0xFF]
        #expect(layout.root == "/cache")
        #expect(
            layout.dataFile(hash: hash, generation: GenerationID(rawValue: 7), fileExtension: "mp4") == "/cache/data/ab/ab01ff/7.mp4")
        #expect(layout.dataFile(hash: hash, generation: GenerationID(rawValue: 7), fileExtension: "") == "/cache/data/ab/ab01ff/7")
    }

    /// The extension comes from a URL and becomes part of a path.
    @Test(arguments: ["../x", "a/b", "a.b", "mp4\u{0}", "é", "0123456789abcdefg", " ", "mp4\n"])
    func `an extension that could leave the directory is dropped`(unsafe: String) {
        #expect(StoreLayout.safeExtension(unsafe) == "")
    }

    @Test(arguments: ["mp4", "M4V", "7z", "", "0123456789abcdef"])
    func `an ordinary extension is kept`(safe: String) {
        #expect(StoreLayout.safeExtension(safe) == safe)
    }
}

@Suite struct FieldBlockTests {
    @Test func `an encoded block of fields is readable text`() {
        let fields: HTTPFields = ["Content-Type": "video/mp4", "Empty": ""]
        #expect(String(decoding: FieldBlock.encode(fields), as: UTF8.self) == "Content-Type: video/mp4\r\nEmpty: \r\n")
    }

    @Test func `fields survive a round trip, in order and with repetitions`() {
        let fields: HTTPFields = ["A": "1", "a": "2", "B": "with: colon, \"quotes\" and ünïcode", "Empty": ""]
        #expect(FieldBlock.decode(FieldBlock.encode(fields)) == fields)
    }

    /// If such a value were stored unchanged, it would be read as another field.
    @Test func `a line that HTTP forbids is dropped`() {
        let fields = HTTPFields([
            .init(name: "Good", value: "1"), .init(name: "Bad", value: "x\r\nSet-Cookie: y"), .init(name: "Bad:name", value: "1"),
            .init(name: "", value: "1"), .init(name: "Zero", value: "\u{0}"),
        ])
        #expect(FieldBlock.decode(FieldBlock.encode(fields)) == ["Good": "1"])
    }

    @Test(arguments: ["", "\r\n", ":", ": x\r\n", "no colon\r\n", "\n\n\n", "\u{0}\u{1}", "A: 1"])
    func `any bytes are decoded without a trap`(text: String) {
        #expect(FieldBlock.decode(Array(text.utf8)).lines.count <= 1)
    }
}
