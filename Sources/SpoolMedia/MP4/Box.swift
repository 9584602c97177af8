import SpoolCore

/// The header of a box: its type and its bytes.
struct Box: Hashable {
    let type: FourCharacterCode
    /// Header and content.
    let range: ByteRange
    /// The number of bytes before the content: 8, or 16 for a box with a long size.
    let headerBytes: Int

    /// Whether the content is media, which players read in parts.
    var isMedia: Bool { type == "mdat" || type == "free" || type == "skip" || type == "wide" }

    /// Reads the header of the box at `offset` of a file (ISO/IEC 14496-12 §4.2).
    init(_ bytes: KnownBytes, at offset: Int64) throws(MediaReadFailure) {
        var header = BigEndian(try bytes.read(8, at: offset))
        let short = try header.number(4)
        guard let type = header.rest.code() else { throw .malformed("a box without a type") }
        self.type = type
        let size: UInt64
        switch short {
        case 0:
            // The box reaches to the end of the file.
            guard let length = bytes.length, length >= offset + 8 else { throw .malformed("a box without an end") }
            size = UInt64(length - offset)
            headerBytes = 8
        case 1:
            var long = BigEndian(try bytes.read(16, at: offset).dropFirst(8))
            size = try long.number(8)
            headerBytes = 16
        default:
            size = short
            headerBytes = 8
        }
        guard size >= UInt64(headerBytes), size <= UInt64(ByteRange.maximumOffset - min(offset, ByteRange.maximumOffset)),
            let range = ByteRange(offset, offset + Int64(size))
        else { throw .malformed("a box '\(type)' of \(size) bytes") }
        self.range = range
    }
}

/// The boxes inside a box, which is in memory.
struct Boxes {
    /// The most boxes in one box.
    private static let maximumBoxes = 4096

    private let members: [(type: FourCharacterCode, content: ArraySlice<UInt8>)]

    /// Reads the boxes in `content`. A box that is cut off ends the list, as in other readers.
    init(_ content: ArraySlice<UInt8>) throws(MediaReadFailure) {
        var members: [(type: FourCharacterCode, content: ArraySlice<UInt8>)] = []
        var rest = content
        while rest.count >= 8, members.count < Self.maximumBoxes {
            var header = BigEndian(rest)
            var size = try header.int(4)
            guard let type = header.rest.code() else { break }
            try header.skip(4)
            if size == 1 {
                guard header.count >= 8 else { break }
                size = try header.int(8)
            } else if size == 0 {
                size = rest.count
            }
            let headerBytes = header.index - rest.startIndex
            guard size >= headerBytes, size <= rest.count else { break }
            members.append((type, rest[header.index..<rest.startIndex + size]))
            rest = rest.dropFirst(size)
        }
        self.members = members
    }

    /// The content of the first box of this type, or nil.
    func first(_ type: FourCharacterCode) -> ArraySlice<UInt8>? { members.first { $0.type == type }?.content }

    /// The contents of all boxes of this type.
    func all(_ type: FourCharacterCode) -> [ArraySlice<UInt8>] { members.filter { $0.type == type }.map(\.content) }
}
