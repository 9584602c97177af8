import SpoolCore

/// The header of an element of Matroska and WebM (RFC 8794 §4–6).
struct MatroskaElement: Hashable {
    let id: UInt32
    /// The offset of the content.
    let contentOffset: Int64
    /// The bytes of the content, or nil for an element that ends where its parent's next one
    /// begins.
    let contentBytes: Int64?

    /// The offset behind the content, or nil if it is unknown.
    var end: Int64? { contentBytes.map { contentOffset + $0 } }

    /// Reads the header at `offset`.
    init(_ bytes: KnownBytes, at offset: Int64) throws(MediaReadFailure) {
        guard offset <= ByteRange.maximumOffset else { throw .malformed("an element beyond the largest offset") }
        let (id, idBytes) = try Self.identifier(bytes, at: offset)
        let (size, sizeBytes) = try Self.variableInteger(bytes, at: offset + Int64(idBytes))
        self.id = id
        contentOffset = offset + Int64(idBytes + sizeBytes)
        // A size of ones alone means that it is unknown.
        let unknown = (UInt64(1) << (7 * UInt64(sizeBytes))) - 1
        guard size != unknown else {
            contentBytes = nil
            return
        }
        guard size <= UInt64(ByteRange.maximumOffset) else { throw .malformed("an element of \(size) bytes") }
        contentBytes = Int64(size)
    }

    private static func identifier(_ bytes: KnownBytes, at offset: Int64) throws(MediaReadFailure) -> (UInt32, Int) {
        let first = try bytes.read(1, at: offset)
        let count = (first.first ?? 0).leadingZeroBitCount + 1
        guard count <= 4 else { throw .malformed("no element at byte \(offset)") }
        return (try bytes.read(count, at: offset).reduce(0) { $0 << 8 | UInt32($1) }, count)
    }

    /// A number whose leading zeros give its size, without its marker bit.
    static func variableInteger(_ bytes: KnownBytes, at offset: Int64) throws(MediaReadFailure) -> (value: UInt64, bytes: Int) {
        let first = try bytes.read(1, at: offset).first ?? 0
        let count = first.leadingZeroBitCount + 1
        guard count <= 8 else { throw .malformed("a size of more than eight bytes at byte \(offset)") }
        let value = try bytes.read(count, at: offset).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (value & ((UInt64(1) << (7 * UInt64(count))) - 1), count)
    }

    /// The unsigned number that the content is.
    func number(_ bytes: KnownBytes) throws(MediaReadFailure) -> UInt64 {
        guard let contentBytes, contentBytes <= 8 else { throw .malformed("a number of more than eight bytes") }
        return try bytes.read(Int(contentBytes), at: contentOffset).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The elements that a reader of the first seconds looks at (RFC 9559).
enum MatroskaID {
    static let segment: UInt32 = 0x1853_8067
    static let seekHead: UInt32 = 0x114D_9B74
    static let seek: UInt32 = 0x4DBB
    static let seekPosition: UInt32 = 0x53AC
    static let information: UInt32 = 0x1549_A966
    static let timestampScale: UInt32 = 0x2A_D7B1
    static let tracks: UInt32 = 0x1654_AE6B
    static let trackEntry: UInt32 = 0xAE
    static let trackNumber: UInt32 = 0xD7
    static let trackType: UInt32 = 0x83
    static let cluster: UInt32 = 0x1F43_B675
    static let timestamp: UInt32 = 0xE7
    static let simpleBlock: UInt32 = 0xA3
    static let blockGroup: UInt32 = 0xA0
    static let block: UInt32 = 0xA1

    /// Elements whose content the reader visits, one after the other.
    static let parents: Set<UInt32> = [segment, seekHead, seek, information, tracks, trackEntry, cluster, blockGroup]
}
