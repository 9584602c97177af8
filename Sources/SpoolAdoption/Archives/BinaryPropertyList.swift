import SpoolCore

/// A reader of binary property lists (`bplist00`).
///
/// The file is a header, the objects, a table of their offsets, and a trailer of 32 bytes with the
/// sizes of both. An object begins with a byte of its type and its size; containers list numbers of
/// other objects. The layout is that of `CFBinaryPList.c` in swiftlang/swift-corelibs-foundation.
struct BinaryPropertyList {
    /// The first bytes of a binary property list.
    static let magic: StaticString = "bplist0"
    private static let headerBytes = 8
    private static let trailerBytes = 32

    private let bytes: [UInt8]
    private let limits: AdoptionLimits
    private var offsets: [Int] = []
    private var root = 0
    private var referenceBytes = 1
    /// The offset after the last object.
    private var end = 0
    private var references = 0
    private var textBytes = 0

    /// Reads a property list.
    ///
    /// - Throws: `ParseError` for bytes that are no such list, or beyond the limits.
    static func table(_ bytes: [UInt8], limits: AdoptionLimits) throws(ParseError) -> ArchiveTable {
        var list = try BinaryPropertyList(bytes, limits)
        var values: [ArchiveTable.Value] = []
        values.reserveCapacity(list.offsets.count)
        for offset in list.offsets { values.append(try list.value(at: offset)) }
        return try ArchiveTable(values, root: list.root, depth: limits.depth)
    }

    private init(_ bytes: [UInt8], _ limits: AdoptionLimits) throws(ParseError) {
        self.bytes = bytes
        self.limits = limits
        guard bytes.starts(with: Self.magic), bytes.count >= Self.headerBytes + Self.trailerBytes else {
            throw ParseError(offset: 0, expected: "a binary property list")
        }
        let trailer = bytes.count - Self.trailerBytes
        let offsetBytes = Int(bytes[trailer + 6])
        referenceBytes = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetBytes), (1...8).contains(referenceBytes),
            let count = number(at: trailer + 8, 8), let root = number(at: trailer + 16, 8), let table = number(at: trailer + 24, 8)
        else { throw ParseError(offset: trailer, expected: "the trailer of a property list") }
        guard (1...limits.values).contains(count), root < count, table >= Self.headerBytes, table <= trailer,
            (trailer - table) / offsetBytes >= count
        else { throw ParseError(offset: trailer, expected: "a table of offsets within the file") }
        self.root = root
        end = table
        offsets.reserveCapacity(count)
        for index in 0..<count {
            guard let offset = number(at: table + index * offsetBytes, offsetBytes), offset >= Self.headerBytes, offset < table else {
                throw ParseError(offset: table + index * offsetBytes, expected: "the offset of an object")
            }
            offsets.append(offset)
        }
    }

    /// The unsigned number of `count` bytes at `offset`, or nil if it is outside the file or above
    /// `Int.max`.
    private func number(at offset: Int, _ count: Int) -> Int? {
        guard offset >= 0, count > 0, count <= 8, offset <= bytes.count - count else { return nil }
        return Int(exactly: bits(at: offset, count))
    }

    /// The caller has checked the bounds.
    private func bits(at offset: Int, _ count: Int) -> UInt64 {
        bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }

    // MARK: Objects

    private mutating func value(at offset: Int) throws(ParseError) -> ArchiveTable.Value {
        let marker = bytes[offset], low = Int(marker & 0xF)
        switch marker >> 4 {
        case 0x0: return try simple(marker, offset)
        case 0x1: return try integer(at: offset, 1 << low)
        case 0x2: return try real(at: offset, 1 << low)
        case 0x3, 0x4: return .other
        case 0x5, 0x6, 0x7: return try text(marker >> 4, offset)
        case 0x8:
            guard low < 8, let reference = bounded(at: offset + 1, low + 1) else { throw malformed(offset) }
            return .reference(reference)
        case 0xA, 0xB, 0xC:
            let (start, count) = try size(at: offset)
            return .array(try numbers(at: start, count))
        case 0xD: return try dictionary(offset)
        default: throw malformed(offset)
        }
    }

    private func simple(_ marker: UInt8, _ offset: Int) throws(ParseError) -> ArchiveTable.Value {
        switch marker {
        case 0x00, 0x0F: return .null
        case 0x08: return .bool(false)
        case 0x09: return .bool(true)
        default: throw malformed(offset)
        }
    }

    /// Integers of 8 bytes are signed and shorter ones are not. Ones of 16 bytes are the unsigned
    /// numbers above `Int64.max`.
    private func integer(at offset: Int, _ count: Int) throws(ParseError) -> ArchiveTable.Value {
        guard count <= 16, offset + 1 <= end - count else { throw malformed(offset) }
        guard count <= 8 else { return .other }
        return .integer(Int64(bitPattern: bits(at: offset + 1, count)))
    }

    private func real(at offset: Int, _ count: Int) throws(ParseError) -> ArchiveTable.Value {
        guard count == 4 || count == 8, offset + 1 <= end - count else { throw malformed(offset) }
        let bits = bits(at: offset + 1, count)
        return .real(count == 8 ? Double(bitPattern: bits) : Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
    }

    private mutating func text(_ kind: UInt8, _ offset: Int) throws(ParseError) -> ArchiveTable.Value {
        let (start, count) = try size(at: offset)
        let width = kind == 0x6 ? 2 : 1
        guard count <= (end - start) / width, count * width <= limits.textBytes - textBytes else { throw malformed(offset) }
        textBytes += count * width
        let content = bytes[start..<start + count * width]
        guard width == 2 else { return .text(String(decoding: content, as: UTF8.self)) }
        let units = stride(from: start, to: content.endIndex, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        return .text(String(decoding: units, as: UTF16.self))
    }

    private mutating func dictionary(_ offset: Int) throws(ParseError) -> ArchiveTable.Value {
        let (start, count) = try size(at: offset)
        let names = try numbers(at: start, count), contents = try numbers(at: start + count * referenceBytes, count)
        var members: [String: Int] = [:]
        for (name, content) in zip(names, contents) {
            guard case .text(let name) = try key(at: offsets[name]) else { throw malformed(offset) }
            members[name] = content
        }
        return .dictionary(members)
    }

    /// Reads the name of a member. Only a text is read, so names cannot lead from one to another.
    private mutating func key(at offset: Int) throws(ParseError) -> ArchiveTable.Value {
        guard (0x5...0x7).contains(bytes[offset] >> 4) else { throw malformed(offset) }
        return try text(bytes[offset] >> 4, offset)
    }

    /// The number of elements of the object at `offset`, and the offset after that number.
    private func size(at offset: Int) throws(ParseError) -> (start: Int, count: Int) {
        let low = Int(bytes[offset] & 0xF)
        guard low == 0xF else { return (offset + 1, low) }
        // A larger number follows as an integer object.
        guard offset + 1 < end, bytes[offset + 1] >> 4 == 0x1 else { throw malformed(offset) }
        let width = 1 << Int(bytes[offset + 1] & 0xF)
        guard width <= 8, let count = bounded(at: offset + 2, width) else { throw malformed(offset) }
        return (offset + 2 + width, count)
    }

    /// The numbers of `count` objects, listed at `start`.
    private mutating func numbers(at start: Int, _ count: Int) throws(ParseError) -> [Int] {
        guard start <= end, count <= (end - start) / referenceBytes, count <= limits.references - references else {
            throw malformed(start)
        }
        references += count
        var numbers: [Int] = []
        numbers.reserveCapacity(count)
        for index in 0..<count {
            let offset = start + index * referenceBytes
            guard let number = bounded(at: offset, referenceBytes), number < offsets.count else { throw malformed(offset) }
            numbers.append(number)
        }
        return numbers
    }

    /// The number of `count` bytes, which lie before the table of offsets.
    private func bounded(at offset: Int, _ count: Int) -> Int? { offset <= end - count ? number(at: offset, count) : nil }

    private func malformed(_ offset: Int) -> ParseError { ParseError(offset: offset, expected: "an object of a property list") }
}

extension [UInt8] {
    /// Whether the first bytes are those of `text`.
    func starts(with text: StaticString) -> Bool { text.withUTF8Buffer { starts(with: $0) } }
}
