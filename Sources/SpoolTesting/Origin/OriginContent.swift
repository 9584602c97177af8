/// The bytes of a made-up resource: a pure function of a seed and an offset, so 20 GiB take no
/// memory.
///
/// Two seeds differ in every block of a few bytes, and no short stretch repeats. So a comparison
/// finds bytes at a wrong offset or of a wrong version.
public struct OriginContent: Hashable, Sendable {
    /// The seed of the bytes.
    public var seed: UInt64
    /// The bytes of a real file at the front. Made-up bytes follow them.
    private let front: [UInt8]

    /// Creates content from a seed.
    public init(seed: UInt64) {
        self.init(front: [], seed: seed)
    }

    /// Creates content that begins with `front`, for example a file or the head of one. The bytes
    /// behind it come from the seed.
    ///
    /// Two contents with one seed must have one front: they count as the same version.
    public init(front: [UInt8], seed: UInt64) {
        self.front = front
        self.seed = seed
    }

    /// Compares the seeds.
    public static func == (left: Self, right: Self) -> Bool { left.seed == right.seed }

    /// Hashes the seed.
    public func hash(into hasher: inout Hasher) { hasher.combine(seed) }

    /// Returns the byte at `offset`, which must be at least 0.
    public func byte(at offset: Int64) -> UInt8 {
        precondition(offset >= 0, "no byte lies before the first: \(offset)")
        if offset < front.count { return front[Int(offset)] }
        return UInt8(truncatingIfNeeded: word(offset >> 3) >> (UInt64(offset & 7) * 8))
    }

    /// Fills `buffer` with the bytes from `offset` on.
    public func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) {
        precondition(offset >= 0, "no byte lies before the first: \(offset)")
        var index = 0
        while index < buffer.count, isSingle(offset + Int64(index)) {
            buffer[index] = byte(at: offset + Int64(index))
            index += 1
        }
        var wordIndex = (offset + Int64(index)) >> 3
        while buffer.count - index >= 8 {
            buffer.storeBytes(of: word(wordIndex).littleEndian, toByteOffset: index, as: UInt64.self)
            wordIndex += 1
            index += 8
        }
        while index < buffer.count {
            buffer[index] = byte(at: offset + Int64(index))
            index += 1
        }
    }

    /// Returns the index of the first byte in `bytes` that differs from the content at `offset`, or
    /// nil if all are equal.
    public func firstDifference(in bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int? {
        var index = 0
        while index < bytes.count, isSingle(offset + Int64(index)) {
            if bytes[index] != byte(at: offset + Int64(index)) { return index }
            index += 1
        }
        var wordIndex = (offset + Int64(index)) >> 3
        while bytes.count - index >= 8, bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) == word(wordIndex).littleEndian {
            wordIndex += 1
            index += 8
        }
        return (index..<bytes.count).first { bytes[$0] != byte(at: offset + Int64($0)) }
    }

    /// Returns `count` bytes from `offset` on.
    public func bytes(at offset: Int64, count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            fill(UnsafeMutableRawBufferPointer(buffer), at: offset)
            filled = count
        }
    }

    /// Whether the byte at `offset` is not the first of a word of made-up bytes.
    private func isSingle(_ offset: Int64) -> Bool { offset < front.count || offset & 7 != 0 }

    /// Returns eight bytes of the content. It mixes an odd multiple of the index until each bit of
    /// it reaches each bit of the word.
    private func word(_ index: Int64) -> UInt64 {
        var x = seed &+ UInt64(bitPattern: index) &* 0xD1B5_4A32_D192_ED03
        x = (x ^ (x >> 32)) &* 0xABC9_8388_FB8F_AC03
        x = (x ^ (x >> 29)) &* 0x8CB9_2BA7_2F3D_8DD7
        return x ^ (x >> 32)
    }
}
