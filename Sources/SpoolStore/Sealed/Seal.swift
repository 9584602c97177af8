import SpoolSystem

/// The nonce and the tag of one sealed piece.
struct Seal: Hashable, Sendable {
    private var nonceLow: UInt64
    private var nonceHigh: UInt32
    private var tagLow: UInt64 = 0
    private var tagHigh: UInt64 = 0

    /// The size of both together, in bytes.
    static let byteCount = CipherAlgorithm.nonceBytes + CipherAlgorithm.tagBytes

    /// A seal with a nonce that was never used before, as far as chance allows, and no tag yet.
    init(random: any RandomSource) {
        nonceLow = random.next()
        nonceHigh = UInt32(truncatingIfNeeded: random.next())
    }

    /// The seal that the index keeps: the bytes of the nonce, then those of the tag.
    ///
    /// - Precondition: they are `byteCount`.
    init(_ bytes: some Collection<UInt8>) {
        precondition(bytes.count == Self.byteCount, "\(bytes.count) bytes are no seal")
        var rest = bytes[...]
        func number(_ count: Int) -> UInt64 {
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        nonceLow = number(8)
        nonceHigh = UInt32(truncatingIfNeeded: number(4))
        tagLow = number(8)
        tagHigh = number(8)
    }

    /// Writes the bytes that the index keeps.
    func encode(into bytes: inout [UInt8]) {
        func append(_ number: UInt64, _ count: Int) {
            for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))) }
        }
        append(nonceLow, 8)
        append(UInt64(nonceHigh), 4)
        append(tagLow, 8)
        append(tagHigh, 8)
    }

    func withNonce<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        let bytes = (nonceLow.littleEndian, nonceHigh.littleEndian)
        return withUnsafeBytes(of: bytes) { body(UnsafeRawBufferPointer(rebasing: $0[..<CipherAlgorithm.nonceBytes])) }
    }

    func withTag<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        withUnsafeBytes(of: (tagLow.littleEndian, tagHigh.littleEndian)) { body($0) }
    }

    /// Takes the tag that `body` writes.
    mutating func setTag(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
        var tag: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &tag) { body($0) }
        tagLow = UInt64(littleEndian: tag.0)
        tagHigh = UInt64(littleEndian: tag.1)
    }
}

/// What a piece is bound to besides its key: no piece opens as that of another store, resource, generation or place.
struct PieceBinding: Sendable {
    // Nine numbers and not an array: made anew for each piece, on the stack.
    private let store: (UInt64, UInt64)
    private let resource: (UInt64, UInt64, UInt64, UInt64)
    private let generation: UInt64

    /// - Parameters:
    ///   - store: the store's number, 16 bytes; other sizes are cut or filled up with zeros.
    ///   - resource: the hash of the resource's key, 32 bytes.
    init(store: [UInt8], resource: [UInt8], generation: Int64) {
        func number(_ bytes: [UInt8], _ index: Int) -> UInt64 {
            bytes.dropFirst(index * 8).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        self.store = (number(store, 0), number(store, 1))
        self.resource = (number(resource, 0), number(resource, 1), number(resource, 2), number(resource, 3))
        self.generation = UInt64(bitPattern: generation)
    }

    /// The bytes that are authenticated with the piece in `lower..<upper`.
    func withBytes<R>(_ lower: Int64, _ upper: Int64, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        let bytes = (
            store.0.littleEndian, store.1.littleEndian, resource.0.littleEndian, resource.1.littleEndian, resource.2.littleEndian,
            resource.3.littleEndian, generation.littleEndian, lower.littleEndian, upper.littleEndian
        )
        return withUnsafeBytes(of: bytes) { body($0) }
    }
}
