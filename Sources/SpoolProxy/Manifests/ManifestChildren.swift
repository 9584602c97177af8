/// The URLs that one manifest names, as hashes.
///
/// The set is a table with open addressing. The hashes are uniform already, so their lowest bits
/// are the place, and the set of the standard library would hash each of them again.
struct ManifestChildren {
    /// The hashes, each at its place or behind it. Zero is a free place.
    private var places = [UInt64](repeating: 0, count: 16)
    /// The number of hashes, at most three quarters of the places.
    private var count = 0

    /// Adds an absolute URL.
    mutating func insert(_ url: String) { insert(URLHash(url)) }

    /// Adds the URL that consists of a directory with this hash and a name.
    mutating func insert(directory: UInt64, name: UnsafeRawBufferPointer) { insert(URLHash(directory: directory, name: name)) }

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
    var heldBytes: Int { places.count * MemoryLayout<UInt64>.stride }
}
