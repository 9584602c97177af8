/// A hash of bytes for tables in memory, some times as fast as `Hasher`.
///
/// It differs from process to process, so that nobody can choose texts with one hash.
package enum ByteHash {
    /// Returns the hash of some bytes.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var result = seed ^ UInt64(bytes.count)
        var index = 0
        while bytes.count - index >= 8 {
            result = mixed(result ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index += 8
        }
        // The last word has bytes that count already.
        if index > 0 {
            let last = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
            return index < bytes.count ? mixed(result ^ last) : result
        }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index += 1
        }
        return mixed(result ^ rest)
    }

    /// Returns the hash of a URL that consists of a directory with this hash and a name.
    package static func hash(directory: UInt64, name: UnsafeRawBufferPointer) -> UInt64 { mixed(directory ^ mixed(hash(name))) }

    /// Spreads the bits of a hash.
    package static func mixed(_ value: UInt64) -> UInt64 {
        let product = (value ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }

    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())
}
