import SpoolSystem

/// A hash of a URL without its fragment, in 8 bytes. Tables about URLs of origins keep hashes, so
/// that long URLs take no memory.
///
/// Different URLs can have one hash. So it only suits tables where that costs at most a question to
/// an origin. It differs from process to process.
struct URLHash: Hashable {
    let value: UInt64

    /// The hash of an absolute URL.
    init(_ url: String) {
        var url = url
        self = url.withUTF8 { URLHash(UnsafeRawBufferPointer($0)) }
    }

    /// The hash of an absolute URL.
    init(_ url: UnsafeRawBufferPointer) {
        let (directory, name) = url.split
        self.init(directory: Self.hash(UnsafeRawBufferPointer(rebasing: url[directory])), name: UnsafeRawBufferPointer(rebasing: url[name]))
    }

    /// The hash of the URL that consists of a directory and a name with its query.
    init(directory: UInt64, name: UnsafeRawBufferPointer) {
        value = Self.mixed(directory ^ Self.mixed(Self.hash(name)))
    }

    /// The hash of some bytes.
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var result = seed ^ UInt64(bytes.count)
        var index = 0
        while bytes.count - index >= 8 {
            result = mixed(result ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index += 8
        }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index += 1
        }
        return mixed(result ^ rest)
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        let product = (value ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }

    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())
}

extension UnsafeRawBufferPointer {
    /// The part of a reference up to the last slash of its path, and the part behind it, without
    /// fragment.
    var split: (directory: Range<Int>, name: Range<Int>) {
        var nameStart = 0, end = 0, isPath = true
        while end < count, self[end] != UInt8(ascii: "#") {
            if self[end] == UInt8(ascii: "?") { isPath = false }
            end += 1
            if isPath, self[end - 1] == UInt8(ascii: "/") { nameStart = end }
        }
        return (0..<nameStart, nameStart..<end)
    }
}
