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
        value = ByteHash.hash(directory: directory, name: name)
    }
}
