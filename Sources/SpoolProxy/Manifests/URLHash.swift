import SpoolCore

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
        let hash = ByteHash.hash(UnsafeRawBufferPointer(rebasing: url[directory]))
        self.init(directory: hash, name: UnsafeRawBufferPointer(rebasing: url[name]))
    }

    /// The hash of the URL that consists of a directory and a name with its query.
    init(directory: UInt64, name: UnsafeRawBufferPointer) {
        value = ByteHash.mixed(directory ^ ByteHash.mixed(ByteHash.hash(name)))
    }
}

extension UnsafeRawBufferPointer {
    /// The part of a reference up to the last slash of its path, and the part behind it, without
    /// fragment.
    var split: (directory: Range<Int>, name: Range<Int>) {
        let slash = UInt8(ascii: "/"), hash = UInt8(ascii: "#")
        var nameStart = 0
        while let index = firstIndex(of: slash, UInt8(ascii: "?"), hash, from: nameStart) {
            guard self[index] == slash else { return (0..<nameStart, nameStart..<(firstIndex(of: hash, from: index) ?? count)) }
            nameStart = index + 1
        }
        return (0..<nameStart, nameStart..<count)
    }

    /// The part of a reference without fragment behind a directory, or nil for one that is not in
    /// that directory itself.
    func name(in directory: [UInt8]) -> Range<Int>? {
        guard directory.withUnsafeBytes({ begins(with: $0, at: 0) }) else { return nil }
        let slash = UInt8(ascii: "/"), query = UInt8(ascii: "?")
        if let index = firstIndex(of: slash, query, query, from: directory.count), self[index] == slash { return nil }
        return directory.count..<count
    }
}
