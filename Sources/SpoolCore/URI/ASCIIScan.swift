// Searches of bytes, eight at a time, for texts that are long and read often.

extension UnsafeRawBufferPointer {
    /// Returns the index of the first byte outside of a range, at or behind `start`, if there is
    /// one.
    ///
    /// - Precondition: `range` is one of ASCII.
    package func firstIndex(outside range: ClosedRange<UInt8>, from start: Int) -> Int? {
        firstIndex(from: start, where: { !range.contains($0) }) { $0.marks(outside: range) }
    }

    /// Returns the index of the first byte that is outside of a range or the given one, at or
    /// behind `start`, if there is one.
    ///
    /// - Precondition: `range` is one of ASCII.
    package func firstIndex(outside range: ClosedRange<UInt8>, orOf byte: UInt8, from start: Int) -> Int? {
        firstIndex(from: start, where: { $0 == byte || !range.contains($0) }) { $0.marks(outside: range) | $0.marks(of: byte) }
    }

    /// Returns the index of the first `byte` at or behind `start`, if there is one.
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        firstIndex(from: start, where: { $0 == byte }) { $0.marks(of: byte) }
    }

    /// Whether the bytes from `start` on begin with `other`.
    package func begins(with other: UnsafeRawBufferPointer, at start: Int) -> Bool {
        guard count - start >= other.count else { return false }
        var index = 0
        while index + 8 <= other.count {
            let word = loadUnaligned(fromByteOffset: start + index, as: UInt64.self)
            guard word == other.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
            index += 8
        }
        while index < other.count {
            guard self[start + index] == other[index] else { return false }
            index += 1
        }
        return true
    }

    /// Returns the first index at or behind `start` whose byte fits. In `marks`, the high bit of a
    /// byte of a word is set if one of its bytes fits.
    @inline(__always)
    private func firstIndex(from start: Int, where fits: (UInt8) -> Bool, marks: (UInt64) -> UInt64) -> Int? {
        let highBits = UInt64(repeating: 0x80)
        var index = start
        while index + 8 <= count, marks(loadUnaligned(fromByteOffset: index, as: UInt64.self)) & highBits == 0 { index += 8 }
        return self[index...].firstIndex(where: fits)
    }
}

extension UInt64 {
    fileprivate init(repeating byte: UInt8) { self = 0x0101_0101_0101_0101 &* UInt64(byte) }

    /// Returns a word in which the high bit of a byte is set if one of the bytes is outside of a
    /// range of ASCII.
    ///
    /// A byte below the range sets its bit in the first term, and one above it in the second. Only
    /// such a byte borrows from the next one, or carries into it.
    @inline(__always)
    fileprivate func marks(outside range: ClosedRange<UInt8>) -> UInt64 {
        ((self &- UInt64(repeating: range.lowerBound)) & ~self) | ((self &+ UInt64(repeating: 0x7F - range.upperBound)) | self)
    }

    /// Returns a word in which the high bit of a byte is set if one of the bytes is `byte`.
    ///
    /// Such a byte of the difference is zero, and a zero byte sets its bit.
    @inline(__always)
    fileprivate func marks(of byte: UInt8) -> UInt64 {
        let difference = self ^ UInt64(repeating: byte)
        return (difference &- UInt64(repeating: 1)) & ~difference
    }
}
