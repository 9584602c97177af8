/// Byte classes of the HTTP grammar (RFC 9110 §5.6.2, RFC 9112).
enum Grammar {
    static let tab = UInt8(ascii: "\t")
    static let space = UInt8(ascii: " ")
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let colon = UInt8(ascii: ":")

    /// The token characters, of which names and methods consist: letters, digits and
    /// ``!#$%&'*+-.^_`|~``. Bit *n* of the pair stands for byte *n*.
    private static let tokenLow: UInt64 = 0x03FF_6CFA_0000_0000
    private static let tokenHigh: UInt64 = 0x57FF_FFFF_C7FF_FFFE

    static func isToken(_ byte: UInt8) -> Bool {
        byte < 64 ? tokenLow >> UInt64(byte) & 1 == 1 : byte < 128 && tokenHigh >> UInt64(byte - 64) & 1 == 1
    }

    /// Whether a field value may contain the byte: any byte except control characters other than
    /// tab.
    static func isFieldContent(_ byte: UInt8) -> Bool {
        byte >= 0x20 ? byte != 0x7F : byte == tab
    }

    /// Whether a request target may contain the byte. Spaces and bytes outside ASCII are accepted and
    /// percent-encoded.
    static func isTarget(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F
    }

    /// Whether an authority may contain the byte: no byte that would end it or make it ambiguous.
    static func isAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, 0x7F...0xFF: false
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "\\"), UInt8(ascii: "\""),
            UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"),
            UInt8(ascii: "}"):
            false
        default: true
        }
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    /// Whether `bytes` equal `word`, which is given in lower case, without regard to case.
    static func matches(_ bytes: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
        guard bytes.count == word.utf8CodeUnitCount else { return false }
        let start = word.utf8Start
        for index in 0..<bytes.count where lowercased(bytes[index]) != start[index] { return false }
        return true
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }
}
