// Searches of bytes, up to 32 at a time, for texts that are long and read often.

extension UnsafeRawBufferPointer {
    /// Returns the index of the first byte outside of a range, at or behind `start`, if there is
    /// one.
    ///
    /// - Precondition: `range` is one of ASCII.
    package func firstIndex(outside range: ClosedRange<UInt8>, from start: Int) -> Int? {
        firstIndex(from: start) { $0.marks(outside: range) }
    }

    /// Returns the index of the first byte that is outside of a range or the given one, at or
    /// behind `start`, if there is one.
    ///
    /// - Precondition: `range` is one of ASCII.
    package func firstIndex(outside range: ClosedRange<UInt8>, orOf byte: UInt8, from start: Int) -> Int? {
        firstIndex(from: start) { $0.marks(outside: range) | $0.marks(of: byte) }
    }

    /// Returns the index of the first `byte` at or behind `start`, if there is one.
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        firstIndex(from: start) { $0.marks(of: byte) }
    }

    /// Returns the index of the first byte that is one of three, at or behind `start`, if there is
    /// one.
    package func firstIndex(of byte: UInt8, _ second: UInt8, _ third: UInt8, from start: Int) -> Int? {
        firstIndex(from: start) { $0.marks(of: byte) | $0.marks(of: second) | $0.marks(of: third) }
    }

    /// Whether the bytes from `start` on begin with `other`.
    package func begins(with other: UnsafeRawBufferPointer, at start: Int) -> Bool {
        guard count - start >= other.count else { return false }
        var index = 0
        while index + 8 <= other.count {
            guard word(at: start + index) == other.word(at: index) else { return false }
            index += 8
        }
        // The last word has bytes that are compared already.
        if index > 0 { return word(at: start + other.count - 8) == other.word(at: other.count - 8) }
        while index < other.count {
            guard self[start + index] == other[index] else { return false }
            index += 1
        }
        return true
    }

    /// The part of a reference up to the last slash of its path, and the part behind it, without
    /// fragment.
    package var split: (directory: Range<Int>, name: Range<Int>) {
        let slash = UInt8(ascii: "/"), hash = UInt8(ascii: "#")
        var nameStart = 0
        while let index = firstIndex(of: slash, UInt8(ascii: "?"), hash, from: nameStart) {
            guard self[index] == slash else { return (0..<nameStart, nameStart..<(firstIndex(of: hash, from: index) ?? count)) }
            nameStart = index + 1
        }
        return (0..<nameStart, nameStart..<count)
    }

    /// Returns the first index at or behind `start` that has a mark. In `marks`, the lowest high bit
    /// of a word is that of its first byte with a mark.
    @inline(__always)
    private func firstIndex(from start: Int, marks: (UInt64) -> UInt64) -> Int? {
        let highBits = UInt64(repeating: 0x80)
        var index = start
        // Most texts have no mark for long, so four words are examined before the place of a mark.
        while count - index >= 32 {
            let first = marks(word(at: index)) & highBits, second = marks(word(at: index + 8)) & highBits
            let third = marks(word(at: index + 16)) & highBits, fourth = marks(word(at: index + 24)) & highBits
            if first | second | third | fourth != 0 {
                if first | second != 0 { return index + (first != 0 ? first.firstByte : 8 + second.firstByte) }
                return index + (third != 0 ? 16 + third.firstByte : 24 + fourth.firstByte)
            }
            index += 32
        }
        while count - index >= 8 {
            let found = marks(word(at: index)) & highBits
            if found != 0 { return index + found.firstByte }
            index += 8
        }
        guard index < count else { return nil }
        // The last word has bytes before the index, too.
        var rest = count < 8 ? 0 : word(at: count - 8) >> UInt64((index + 8 - count) * 8)
        if count < 8 { for place in index..<count { rest |= UInt64(self[place]) << UInt64((place - index) * 8) } }
        let found = marks(rest) & highBits, place = index + found.firstByte
        return found != 0 && place < count ? place : nil
    }

    /// The eight bytes at an index, the first of which is the lowest.
    ///
    /// - Precondition: The buffer has eight bytes from `index` on.
    @inline(__always)
    private func word(at index: Int) -> UInt64 {
        UInt64(littleEndian: baseAddress.unsafelyUnwrapped.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
}

extension UInt64 {
    fileprivate init(repeating byte: UInt8) { self = 0x0101_0101_0101_0101 &* UInt64(byte) }

    /// The index of the first byte that has a bit.
    fileprivate var firstByte: Int { trailingZeroBitCount / 8 }

    /// Returns a word whose lowest high bit is that of the first byte outside of a range of ASCII.
    ///
    /// A byte below the range sets its bit in the first term, and one above it in the second. Only
    /// such a byte borrows from the next one, or carries into it.
    @inline(__always)
    fileprivate func marks(outside range: ClosedRange<UInt8>) -> UInt64 {
        ((self &- UInt64(repeating: range.lowerBound)) & ~self) | ((self &+ UInt64(repeating: 0x7F - range.upperBound)) | self)
    }

    /// Returns a word whose lowest high bit is that of the first byte that is `byte`.
    ///
    /// Such a byte of the difference is zero. Only a zero byte sets its bit and borrows from the
    /// next one.
    @inline(__always)
    fileprivate func marks(of byte: UInt8) -> UInt64 {
        let difference = self ^ UInt64(repeating: byte)
        return (difference &- UInt64(repeating: 1)) & ~difference
    }
}
