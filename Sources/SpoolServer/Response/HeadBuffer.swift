import SpoolCore

/// A buffer for the head of a response. Its memory stays allocated from one head to the next.
///
/// It is a noncopyable value rather than an object, so that one exclusivity check covers a whole
/// head.
package struct HeadBuffer: ~Copyable {
    private var memory: UnsafeMutableRawBufferPointer
    /// The number of bytes appended since the last `removeAll`.
    package private(set) var count = 0

    /// The initial capacity in bytes, which is enough for most heads.
    private static let usualBytes = 4096
    /// Decimal digits of the largest `UInt64`.
    private static let mostDigits = 20

    /// Creates an empty buffer.
    package init() {
        memory = .allocate(byteCount: Self.usualBytes, alignment: 16)
    }

    deinit {
        memory.deallocate()
    }

    /// The appended bytes, valid until the next change.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    mutating func removeAll() { count = 0 }

    /// Returns the value of the first field line with a name as it was written, or nil.
    func value(of name: HTTPFields.Name) -> String? {
        let start = name.text + ": "
        return String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").first { $0.hasPrefix(start) }
            .map { String($0.dropFirst(start.count)) }
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        room(for: bytes.count).copyMemory(from: base, byteCount: bytes.count)
        count += bytes.count
    }

    mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Inlined, so that the compiler copies a text of known length by some moves.
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a number in decimal, two digits at a time. A negative number becomes 0.
    mutating func append(decimal number: Int64) {
        let start = room(for: 2 * Self.mostDigits).assumingMemoryBound(to: UInt8.self)
        let pairs = Self.pairs.utf8Start
        var rest = UInt64(clamping: number), place = Self.mostDigits
        while rest >= 10 {
            let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
            place -= 2
            start[place] = pairs[2 &* Int(truncatingIfNeeded: pair)]
            start[place &+ 1] = pairs[2 &* Int(truncatingIfNeeded: pair) &+ 1]
            rest = quotient
        }
        if rest > 0 || place == Self.mostDigits {
            place -= 1
            start[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest)
        }
        // The bytes behind the digits are free. A move of constant length needs no call.
        UnsafeMutableRawPointer(start).copyMemory(from: start + place, byteCount: Self.mostDigits)
        count += Self.mostDigits - place
    }

    /// The numbers from 00 to 99.
    private static let pairs: StaticString = """
        0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
        5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
        """

    /// Returns the place for the next `more` bytes, and grows the memory when needed.
    @inline(__always)
    private mutating func room(for more: Int) -> UnsafeMutableRawPointer {
        if more > memory.count &- count { grow(by: more) }
        // The memory is never empty, so it has an address.
        return memory.baseAddress.unsafelyUnwrapped + count
    }

    @inline(never)
    private mutating func grow(by more: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(2 * memory.count, count + more), alignment: 16)
        larger.copyMemory(from: bytes)
        memory.deallocate()
        memory = larger
    }
}
