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

    /// Creates a set without URLs.
    ///
    /// - Parameter url: The URL of the manifest.
    init(of url: String) {
        let bytes = Array(url.utf8)
        base = bytes.withUnsafeBytes { Array($0[$0.split.directory]) }
        last = ([], true, base.withUnsafeBytes(URLHash.hash))
    }

    /// Adds an absolute URL.
    mutating func insert(_ url: String) { insert(URLHash(url)) }

    /// Adds a URL that needs no normalising: an absolute one, or a path below the manifest's
    /// directory.
    mutating func insert(_ text: UnsafeRawBufferPointer, isRelative: Bool) {
        if let name = nameInLast(text, isRelative: isRelative) { return insert(URLHash(directory: last.hash, name: name)) }
        let (directory, name) = text.split
        let whole = (isRelative ? base : []) + text[directory]
        last = (Array(text[directory]), isRelative, whole.withUnsafeBytes(URLHash.hash))
        insert(URLHash(directory: last.hash, name: UnsafeRawBufferPointer(rebasing: text[name])))
    }

    /// The part of a text behind the last directory, if the text is in that directory.
    private func nameInLast(_ text: UnsafeRawBufferPointer, isRelative: Bool) -> UnsafeRawBufferPointer? {
        guard isRelative == last.isRelative, last.directory.withUnsafeBytes({ text.begins(with: $0, at: 0) }) else { return nil }
        let rest = UnsafeRawBufferPointer(rebasing: text[last.directory.count...]), (directory, name) = rest.split
        return directory.isEmpty ? UnsafeRawBufferPointer(rebasing: rest[name]) : nil
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
