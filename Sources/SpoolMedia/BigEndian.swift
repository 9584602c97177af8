/// Reads numbers from bytes in network order, one after the other.
///
/// A reader of a container first makes sure that the bytes are there, then reads the numbers. A
/// number beyond the end is a fault of the file and never traps.
struct BigEndian {
    private let bytes: ArraySlice<UInt8>
    /// The index of the next byte.
    private(set) var index: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    /// The number of bytes that are left.
    var count: Int { bytes.endIndex - index }

    /// The bytes that are left.
    var rest: ArraySlice<UInt8> { bytes[index...] }

    /// Skips `count` bytes.
    mutating func skip(_ count: Int) throws(MediaReadFailure) {
        guard count >= 0, count <= self.count else { throw .malformed("a field of \(count) bytes where \(self.count) are left") }
        index += count
    }

    /// Reads a number of `size` bytes, from 1 to 8.
    mutating func number(_ size: Int) throws(MediaReadFailure) -> UInt64 {
        guard size <= count else { throw .malformed("a number of \(size) bytes where \(count) are left") }
        var value: UInt64 = 0
        for byte in bytes[index..<index + size] { value = value << 8 | UInt64(byte) }
        index += size
        return value
    }

    mutating func byte() throws(MediaReadFailure) -> UInt8 { UInt8(try number(1)) }

    mutating func int(_ size: Int) throws(MediaReadFailure) -> Int {
        Int(clamping: try number(size))
    }
}

extension ArraySlice<UInt8> {
    /// Whether the bytes begin with the characters of `text`.
    func starts(withText text: StaticString) -> Bool {
        text.withUTF8Buffer { starts(with: $0) }
    }

    /// The four bytes from `offset` on as a code such as `moov`; nil if fewer are left.
    func code(at offset: Int = 0) -> FourCharacterCode? {
        guard count >= offset + 4 else { return nil }
        return FourCharacterCode(self[(startIndex + offset)..<(startIndex + offset + 4)])
    }
}

/// Four bytes that name a part of a container.
struct FourCharacterCode: Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    private let value: UInt32

    init(_ bytes: ArraySlice<UInt8>) {
        value = bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    init(stringLiteral text: StaticString) {
        value = text.withUTF8Buffer { $0.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
    }

    /// The characters, with a question mark for each byte outside printable ASCII.
    var description: String {
        String(
            (0..<4).map { shift in
                let byte = UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32(shift)))
                return (0x20...0x7E).contains(byte) ? Character(Unicode.Scalar(byte)) : "?"
            })
    }
}
