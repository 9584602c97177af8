// Percent-encoding, RFC 3986 §2.1.

extension [UInt8] {
    /// Appends `%XX` for a byte.
    package mutating func appendEscape(of byte: UInt8) {
        let digits: StaticString = "0123456789ABCDEF"
        self += [.percent, digits.utf8Start[Int(byte >> 4)], digits.utf8Start[Int(byte & 15)]]
    }
}

extension Sequence<UInt8> {
    /// Returns the bytes as a text in which `%XX` stands for each byte that `isEscaped` accepts.
    package func percentEncoded(where isEscaped: (UInt8) -> Bool) -> String {
        var result: [UInt8] = []
        for byte in self {
            if isEscaped(byte) { result.appendEscape(of: byte) } else { result.append(byte) }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

extension StringProtocol {
    /// The text with all characters except unreserved ones (RFC 3986 §2.3) escaped.
    package var percentEncoded: String { utf8.percentEncoded { !$0.isUnreserved } }

    /// The text with `%XX` decoded and `+` unchanged, or nil when an escape is broken or the bytes
    /// are not UTF-8.
    package var percentDecoded: String? {
        let (bytes, isBroken) = decodedBytes
        let text = String(decoding: bytes, as: UTF8.self)
        return isBroken || !text.utf8.elementsEqual(bytes) ? nil : text
    }

    /// The text with `%XX` decoded. Broken escapes stay.
    package var percentDecodedLeniently: String {
        utf8.contains(.percent) ? String(decoding: decodedBytes.bytes, as: UTF8.self) : String(self)
    }

    private var decodedBytes: (bytes: [UInt8], isBroken: Bool) {
        var (bytes, isBroken) = ([UInt8](), false)
        var rest = Substring(self).utf8[...]
        while let byte = rest.popFirst() {
            if byte == .percent, let high = rest.first?.hexValue, let low = rest.dropFirst().first?.hexValue {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                isBroken = isBroken || byte == .percent
                bytes.append(byte)
            }
        }
        return (bytes, isBroken)
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit, or nil for another byte.
    package var hexValue: UInt8? {
        guard isHexDigit else { return nil }
        return isDigit ? self - 0x30 : asciiLowercased - 0x61 + 10
    }

    fileprivate var isUnreserved: Bool { isLetter || isDigit || [.minus, .dot, UInt8(ascii: "_"), UInt8(ascii: "~")].contains(self) }
}
