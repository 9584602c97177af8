package import SpoolCore
package import SpoolStore

/// A made-up resource for tests of stores. Every field of its metadata has a value, and its bytes
/// show where they belong.
package struct StoreSample: Sendable {
    /// The key of the resource.
    package var key: ResourceKey
    /// The URL of the resource.
    package var url: String
    /// The metadata of its version.
    package var representation: Representation
    /// The extension of its file.
    package var fileExtension: String
    /// The time of its commits.
    package var time: Timestamp

    /// Creates a resource with this key. Its URL and fields follow from the key.
    package init(_ key: String = "https://media.example/film.mp4", length: Int64? = 1 << 30) {
        self.key = ResourceKey(normalized: key)
        url = key + "?signature=9f3"
        representation = Representation(
            length: length, validator: .strong(entityTag: "\"v1\""),
            fields: ["Content-Type": "video/mp4", "Vary": "Accept", "X-Note": "über: ä, b"],
            requestTime: Timestamp(nanoseconds: 1_700_000_000_123_456_789),
            responseTime: Timestamp(nanoseconds: 1_700_000_001_000_000_001))
        fileExtension = "mp4"
        time = Timestamp(seconds: 1_700_000_002)
    }

    /// Returns a commit of some ranges of a generation, without checks.
    package func commit(_ generation: GenerationID, _ ranges: [Range<Int64>] = []) -> StoreCommit {
        StoreCommit(
            key: key, url: url, generation: generation, representation: representation, fileExtension: fileExtension,
            pieces: ranges.compactMap { ByteRange($0).map { Piece(range: $0) } }, time: time)
    }

    /// Returns the bytes that belong at `offset` of a generation. Two generations differ in the
    /// byte at every offset, unless their numbers differ by a multiple of 251.
    package func pattern(_ generation: Int64, at offset: Int64, count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            // Rows of 251 bytes that count up, where each row begins one further. They are copied,
            // because tests compare megabytes.
            let position = offset + Int64(bytes.count)
            let column = position % Self.period
            let start = Int((position / Self.period + column + generation) % Self.period)
            bytes += Self.ramp[start..<start + min(count - bytes.count, Int(Self.period - column))]
        }
        return bytes
    }

    private static let period: Int64 = 251
    /// The values 1 to 251, twice. 0 is left out, because a hole reads as 0.
    private static let ramp = (0..<2 * period).map { UInt8($0 % period + 1) }

    /// Writes the pattern to `ranges` of a generation and commits it.
    ///
    /// - Returns: The open file.
    @discardableResult
    package func store(
        _ ranges: [Range<Int64>], of generation: GenerationID, in store: any ResourceStore
    ) throws(StoreError) -> any DataFile {
        let file = try store.dataFile(of: generation, key: key, fileExtension: fileExtension)
        var commit = commit(generation)
        for range in ranges {
            commit.pieces += try file.write(pattern(generation.rawValue, at: range.lowerBound, count: range.count), at: range.lowerBound)
        }
        try store.commit(commit)
        return file
    }
}

extension ResourceStore {
    /// Verifies everything that an earlier opening stored of a generation.
    ///
    /// - Returns: The bytes that must not be used.
    @discardableResult
    package func admitAll(of generation: GenerationID, into file: any DataFile) throws(StoreError) -> [Damage] {
        file.admit(try pieces(of: generation, in: ByteRange(lower: 0, upper: .max)))
    }
}

extension DataFile {
    /// Writes an array.
    @discardableResult
    package func write(_ bytes: [UInt8], at offset: Int64) throws(StoreError) -> [Piece] {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(StoreError) in try write(buffer, at: offset) }
        }
        return try result.get()
    }

}

extension StoredBytes {
    /// Returns up to `count` bytes from `offset`, fewer at the end of the file.
    package func bytes(at offset: Int64, count: Int) throws(StoreError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xFF, count: count)
        var filled = 0
        while filled < count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(StoreError) in
                    try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: offset + Int64(filled))
                }
            }
            let got = try result.get()
            if got == 0 { break }
            filled += got
        }
        return Array(bytes.prefix(filled))
    }
}

extension ByteRangeSet {
    /// Returns the set of some ranges.
    package static func of(_ ranges: Range<Int64>...) -> ByteRangeSet {
        ByteRangeSet(ranges.compactMap { ByteRange($0) })
    }
}

extension ResourceStore {
    /// Returns the bytes among the spans of a resource that no reader gets, because they do not
    /// match their checks or the index has no piece for them.
    package func damagedSpans(of resource: StoredResource, in file: any DataFile) throws(StoreError) -> ByteRangeSet {
        var damaged = ByteRangeSet()
        for range in resource.unverified.ranges {
            let pieces = try pieces(of: resource.generation, in: range)
            damaged.formUnion(ByteRangeSet([range]).subtracting(ByteRangeSet(pieces.map(\.range))))
            damaged.formUnion(ByteRangeSet(file.admit(pieces).map(\.range)))
        }
        return damaged
    }
}
