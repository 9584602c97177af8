import SpoolCore

/// The URLs that one manifest names, as hashes.
///
/// The set is a table with open addressing. The hashes are uniform already, so their lowest bits
/// are the place, and the set of the standard library would hash each of them again.
struct ManifestChildren {
    /// The hashes, each at its place or behind it. Zero is a free place.
    private var places = [UInt64](repeating: 0, count: 16)
    /// The number of hashes, at most three quarters of the places.
    private var count = 0
    /// The directory of the manifest.
    private let base: [UInt8]
    /// The last directory of a child as it was written, and its hash. Most children have the
    /// directory of the one before.
    private var last: (directory: [UInt8], isRelative: Bool, hash: UInt64)

    /// Whether the last directory is relative to the manifest's.
    var lastIsRelative: Bool { last.isRelative }

    /// Creates a set without URLs.
    ///
    /// - Parameter url: The URL of the manifest.
    init(of url: String) {
        let bytes = Array(url.utf8)
        base = bytes.withUnsafeBytes { Array($0[$0.split.directory]) }
        last = ([], true, base.withUnsafeBytes(ByteHash.hash))
    }

    /// Adds an absolute URL.
    mutating func insert(_ url: String) { insert(URLHash(url)) }

    /// Adds a URL that needs no normalising: an absolute one, or a path below the manifest's
    /// directory.
    mutating func insert(_ text: UnsafeRawBufferPointer, isRelative: Bool) {
        if isRelative == last.isRelative, let name = text.name(in: last.directory) {
            return insert(URLHash(directory: last.hash, name: UnsafeRawBufferPointer(rebasing: text[name])))
        }
        let (directory, name) = text.split
        let whole = (isRelative ? base : []) + text[directory]
        last = (Array(text[directory]), isRelative, whole.withUnsafeBytes(ByteHash.hash))
        insert(URLHash(directory: last.hash, name: UnsafeRawBufferPointer(rebasing: text[name])))
    }

    /// Adds a URL that has the directory of the last one, and a name that leads nowhere else.
    ///
    /// - Returns: False for other URLs, which are not added.
    mutating func insertNeighbour(_ text: UnsafeRawBufferPointer) -> Bool {
        guard !last.directory.isEmpty, let name = text.name(in: last.directory) else { return false }
        if !name.isEmpty, [".", "%", "\\"].contains(Unicode.Scalar(text[name.lowerBound])) { return false }
        insert(URLHash(directory: last.hash, name: UnsafeRawBufferPointer(rebasing: text[name])))
        return true
    }

    private mutating func insert(_ url: URLHash) {
        if count >= places.count / 4 * 3 { grow() }
        let place = place(of: url.value)
        guard places[place] == 0 else { return }
        places[place] = url.value
        count += 1
    }

    private mutating func grow() {
        let old = places
        places = [UInt64](repeating: 0, count: old.count * 2)
        for value in old where value != 0 { places[place(of: value)] = value }
    }

    /// Returns the place of a hash, or the free place for it. There always is a free one.
    private func place(of value: UInt64) -> Int {
        let mask = places.count - 1
        var place = Int(truncatingIfNeeded: value) & mask
        while places[place] != 0, places[place] != value { place = (place + 1) & mask }
        return place
    }

    /// Whether the manifest names the URL. The answer is wrong for one of about 2^64 / *n* URLs.
    func contains(_ url: URLHash) -> Bool { url.value != 0 && places[place(of: url.value)] == url.value }

    /// The memory of the set, about, in bytes.
    var heldBytes: Int { places.count * MemoryLayout<UInt64>.stride + base.count + last.directory.count }
}
