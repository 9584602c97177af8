/// The URLs that one manifest names, as hashes.
struct ManifestChildren {
    private var hashes: Set<URLHash> = []
    /// The directory of the manifest.
    private let base: [UInt8]
    /// The last directory of a child, and its hash. Most children have the directory of the one
    /// before.
    private var last: (directory: [UInt8], hash: UInt64)

    /// Creates a set without URLs.
    ///
    /// - Parameter url: The URL of the manifest.
    init(of url: String) {
        let bytes = Array(url.utf8)
        base = bytes.withUnsafeBytes { Array($0[$0.split.directory]) }
        last = (base, base.withUnsafeBytes(URLHash.hash))
    }

    /// Adds an absolute URL.
    mutating func insert(_ url: String) { hashes.insert(URLHash(url)) }

    /// Adds a URL that needs no normalising: an absolute one, or a path below the manifest's
    /// directory.
    mutating func insert(_ text: UnsafeRawBufferPointer, isRelative: Bool) {
        let (directory, name) = text.split
        let start = isRelative ? base.count : 0
        if !isLast(UnsafeRawBufferPointer(rebasing: text[directory]), from: start) {
            let whole = base[..<start] + text[directory]
            last = (Array(whole), whole.withUnsafeBytes(URLHash.hash))
        }
        hashes.insert(URLHash(directory: last.hash, name: UnsafeRawBufferPointer(rebasing: text[name])))
    }

    /// Whether the last directory consists of the first `start` bytes of the manifest's and of
    /// these.
    private func isLast(_ directory: UnsafeRawBufferPointer, from start: Int) -> Bool {
        guard last.directory.count == start + directory.count else { return false }
        return last.directory[start...].elementsEqual(directory) && last.directory[..<start].elementsEqual(base[..<start])
    }

    /// Whether the manifest names the URL. The answer is wrong for one of about 2^64 / *n* URLs.
    func contains(_ url: URLHash) -> Bool { hashes.contains(url) }

    /// The memory of the set, about, in bytes.
    var heldBytes: Int { hashes.capacity * MemoryLayout<URLHash>.stride * 4 / 3 + base.count + last.directory.count }
}
