// The bytes of field values as text, and back (RFC 9110 §5.5).

extension String {
    /// Creates the text of the bytes of a field.
    ///
    /// Bytes that are valid UTF-8 are that text. In all others, such as the ISO-8859-1 of many radio
    /// stations, each byte outside ASCII becomes one private-use character. So `fieldBytes` returns
    /// every value as it came, and two values that differ stay different. That matters for entity
    /// tags, which are opaque octets (RFC 9110 §8.8.3).
    package init(fieldBytes bytes: some Collection<UInt8>) {
        var isASCII = true
        for byte in bytes where byte >= 0x80 { isASCII = false }
        let text = String(decoding: bytes, as: UTF8.self)
        if isASCII || (text.utf8.elementsEqual(bytes) && !text.unicodeScalars.contains { $0.fieldByte != nil }) {
            self = text
        } else {
            self = String(UnicodeScalarView(bytes.map { $0 < 0x80 ? Unicode.Scalar($0) : Unicode.Scalar(fieldByte: $0) }))
        }
    }

    /// The bytes to send for the text of a field.
    package var fieldBytes: [UInt8] {
        // The first byte of each character that stands for a byte. Hardly any value has it.
        guard utf8.contains(0xF4) else { return Array(utf8) }
        return unicodeScalars.flatMap { scalar in scalar.fieldByte.map { [$0] } ?? Array(String(scalar).utf8) }
    }
}

extension Unicode.Scalar {
    /// The character that stands for the byte 0. Only bytes from 0x80 on have one.
    private static let firstForByte: UInt32 = 0x10_FE00

    /// Creates the character that stands for a byte outside ASCII.
    fileprivate init(fieldByte byte: UInt8) { self = Unicode.Scalar(Self.firstForByte + UInt32(byte)) ?? "\u{FFFD}" }

    /// The byte that the character stands for, or nil if it is a character of text.
    fileprivate var fieldByte: UInt8? {
        (Self.firstForByte + 0x80...Self.firstForByte + 0xFF).contains(value) ? UInt8(truncatingIfNeeded: value) : nil
    }
}
