import SpoolSystem

/// The nonce and the tag of one sealed piece.
struct Seal: Hashable, Sendable {
    private var nonceLow: UInt64
    private var nonceHigh: UInt32
    private var tagLow: UInt64 = 0
    private var tagHigh: UInt64 = 0

    /// The size of both together, in bytes.
    static let byteCount = CipherAlgorithm.nonceBytes + CipherAlgorithm.tagBytes

    /// Creates a seal with a random nonce and no tag yet. The probability of a repeated nonce is
    /// negligible.
    init(random: any RandomSource) {
        nonceLow = random.next()
        nonceHigh = UInt32(truncatingIfNeeded: random.next())
    }

    /// Creates a seal from its bytes in the index: the nonce, then the tag.
    ///
    /// - Precondition: `bytes` has `byteCount` elements.
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

    /// Appends the bytes of the seal in the form that the index stores.
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

    /// Sets the tag that `body` writes.
    mutating func setTag(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
        var tag: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &tag) { body($0) }
        tagLow = UInt64(littleEndian: tag.0)
        tagHigh = UInt64(littleEndian: tag.1)
    }
}

/// The data that a piece's seal is bound to besides its key: store, resource, generation and place.
/// A piece does not open with other values.
struct PieceBinding: Sendable {
    // Separate numbers instead of an array, because the data is created for each piece and stays on
    // the stack.
    private let store: (UInt64, UInt64)
    private let resource: (UInt64, UInt64, UInt64, UInt64)
    private let generation: UInt64

    /// Creates the binding of a generation's pieces.
    ///
    /// - Parameters:
    ///   - store: the store's identifier, 16 bytes. Other sizes are cut or padded with zeros.
    ///   - resource: the hash of the resource's key, 32 bytes.
    init(store: [UInt8], resource: [UInt8], generation: Int64) {
        func number(_ bytes: [UInt8], _ index: Int) -> UInt64 {
            bytes.dropFirst(index * 8).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        self.store = (number(store, 0), number(store, 1))
        self.resource = (number(resource, 0), number(resource, 1), number(resource, 2), number(resource, 3))
        self.generation = UInt64(bitPattern: generation)
    }

    /// Calls `body` with the bytes that are authenticated together with the piece in
    /// `lower..<upper`.
    func withBytes<R>(_ lower: Int64, _ upper: Int64, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        let bytes = (
            store.0.littleEndian, store.1.littleEndian, resource.0.littleEndian, resource.1.littleEndian, resource.2.littleEndian,
            resource.3.littleEndian, generation.littleEndian, lower.littleEndian, upper.littleEndian
        )
        return withUnsafeBytes(of: bytes) { body($0) }
    }
}
