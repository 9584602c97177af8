/// Where the head of a response is put together. Its memory stays from one head to the next.
///
/// A value without copies and not an object, so that one access serves a whole head.
package struct HeadBuffer: ~Copyable {
    private var memory: UnsafeMutableRawBufferPointer
    /// Bytes that were appended since the last `removeAll`.
    package private(set) var count = 0

    /// Most heads fit.
    private static let usualBytes = 4096
    /// Decimal digits of the largest `UInt64`.
    private static let mostDigits = 20

    package init() {
        memory = .allocate(byteCount: Self.usualBytes, alignment: 16)
    }

    deinit {
        memory.deallocate()
    }

    /// What was appended; valid until the next change.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    mutating func removeAll() { count = 0 }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        room(for: bytes.count).copyMemory(from: base, byteCount: bytes.count)
        count += bytes.count
    }

    mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a number that is not negative.
    mutating func append(decimal number: Int64) {
        let start = room(for: Self.mostDigits).assumingMemoryBound(to: UInt8.self)
        var rest = UInt64(number), place = Self.mostDigits
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            place -= 1
            start[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
            rest = quotient
        } while rest > 0
        let width = Self.mostDigits - place
        start.update(from: start + place, count: width)
        count += width
    }

    /// Where the next `more` bytes go.
    private mutating func room(for more: Int) -> UnsafeMutableRawPointer {
        if count + more > memory.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(2 * memory.count, count + more), alignment: 16)
            larger.copyMemory(from: bytes)
            memory.deallocate()
            memory = larger
        }
        // Never empty, so it has an address.
        return memory.baseAddress.unsafelyUnwrapped + count
    }
}
