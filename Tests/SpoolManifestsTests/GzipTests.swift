import SpoolManifests
import Testing

struct GzipTests {
    /// 20 bytes of text in fixed codes.
    private static let short = "1f8b080000000000020353768d08f1350ee5d24fd42b2986920073558a3414000000"
    /// A playlist of 40 segments in codes of its own.
    private static let long =
        "1f8b08000000000002036dd3b14a44510c84e17e9f42d856dc3b49ce4962af60a1d50abec02282ddeefba378e6564e95e287141fc9f1e9e3fceaef87"
        + "e3ef7c797b7e8cfbf3d7edfb72b71d4ed7cbe7697bb85dffb546af0a55cb6b55533547aeeaaace9cab86aaa3c7aa4356c4aa53d5705f3555f561ab96"
        + "aa9658b55545d30a120bdb8e25b58c58905a1dd482e4aa492e48af2c7a4182e5463048b1691483241b413248b398348344f3229a49346ba29946c37e"
        + "62520d4e35936a836826d13a896612ad9a6826d10a443389964e3493687310cd24da48a2b9448b229a4bb4d888e612cd6d7f4c89664135976a985473"
        + "ad46349768247349d646322fbd9964fe47f60355f2c2b7cf040000"

    private static func bytes(_ text: String) -> [UInt8] {
        var rest = text[...]
        var result: [UInt8] = []
        while let byte = UInt8(rest.prefix(2), radix: 16) {
            result.append(byte)
            rest = rest.dropFirst(2)
        }
        return result
    }

    private static let playlist =
        "#EXTM3U\n" + (0..<40).map { "#EXTINF:4,Title \($0 * 7_919 % 1_000)\n/seg/\($0).ts\n" }.joined()

    @Test func `blocks of all kinds are decoded, with a name in the head, and several members`() throws {
        let short = Array("#EXTM3U\n/a.ts\n/a.ts\n".utf8)
        #expect(try Gzip.decoded(Self.bytes(Self.short), maxBytes: 64) == short)
        let deflate = Self.bytes("78da53768d08f1350ee5d24fd42b2986920036c80552")
        #expect(Gzip.begins(deflate) && !Gzip.begins("x-notes".utf8.map(\.self)))
        #expect(try Gzip.decoded(deflate, maxBytes: 64) == short)
        #expect(try Gzip.decoded(Self.bytes(Self.long), maxBytes: 1 << 16).elementsEqual(Self.playlist.utf8))
        let stored = Self.bytes("1f8b080800000000000361000102" + "00fdff6869ac2a93d802000000")
        #expect(try Gzip.decoded(stored + Self.bytes(Self.short), maxBytes: 64) == Array("hi".utf8) + short)
    }

    @Test func `a result beyond the bound is refused, and a cut document, too`() {
        let long = Self.bytes(Self.long)
        #expect(throws: (any Error).self) { try Gzip.decoded(long, maxBytes: Self.playlist.utf8.count - 1) }
        for count in 0..<long.count { #expect(throws: (any Error).self) { try Gzip.decoded(Array(long[..<count]), maxBytes: 1 << 16) } }
    }

    @Test func `damaged bytes are refused or decoded within the bound`() {
        for text in [Self.short, Self.long] {
            for place in Self.bytes(text).indices {
                for mask: UInt8 in [0x01, 0x80, 0xFF] {
                    var bytes = Self.bytes(text)
                    bytes[place] ^= mask
                    #expect(((try? Gzip.decoded(bytes, maxBytes: 4_096)) ?? []).count <= 4_096)
                }
            }
        }
    }
}
