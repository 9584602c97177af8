package import SpoolCore
import SpoolStore

/// The description of one resource in a bucket: what the object's last bytes contain.
///
/// An object has the bytes of the resource and then a trailer. So one PUT stores both, and no
/// reader can see the bytes of one version with the description of another. The trailer has the
/// SHA-256 of each chunk, which lets a reader verify a range before it hands out its first byte:
///
///     the bytes of the resource
///     one SHA-256 for each chunk of 256 KiB
///     the key and the fields of the response, a line each
///     "SPOOLOB1", length, chunk size, bytes of the lines, SHA-256 of all before it since the bytes
package struct BucketManifest: Hashable, Sendable {
    /// The key of the resource.
    package let key: ResourceKey
    /// The length of the resource in bytes, at least 1.
    package let length: Int64
    /// The fields of the origin's response.
    package var fields: HTTPFields
    /// The strong tag of the version.
    package let tag: String
    /// The SHA-256 of each chunk, one after the other.
    private let digests: [UInt8]
    /// The tag of the bucket for the object, or nil.
    package var objectTag: String?

    /// The bytes that one digest covers. A reader gets its first byte after as many have come.
    package static let chunkBytes: Int64 = 256 << 10
    /// The most bytes of an object: 5 GiB, the bound of S3 for one PUT.
    package static let maximumObjectBytes: Int64 = 5 << 30
    /// The most bytes of a trailer: 640 KiB of digests, and the lines.
    package static let maximumTrailerBytes = 1 << 20
    /// The bytes of the first look at an object. They contain the whole trailer of up to 400 MiB.
    package static let firstLookBytes = 64 << 10

    private static let magic = Array("SPOOLOB1".utf8)
    private static let digestBytes = SHA256Digest.byteCount
    /// The bytes behind the lines: the magic, three numbers of eight bytes, and a digest.
    private static let footerBytes = 8 + 3 * 8 + digestBytes

    /// Creates the manifest of a resource.
    ///
    /// - Parameter digests: One digest for each chunk, one after the other.
    /// - Returns: Nil for a resource that no object can hold.
    package init?(key: ResourceKey, length: Int64, fields: HTTPFields, digests: [UInt8]) {
        guard case .strong(let tag) = Validator(fields: fields), length > 0,
            digests.count == Self.chunkCount(of: length) * Self.digestBytes
        else { return nil }
        self.key = key
        self.length = length
        self.fields = fields
        self.tag = tag
        self.digests = digests
    }

    /// The number of chunks of a resource.
    package static func chunkCount(of length: Int64) -> Int { Int((length + chunkBytes - 1) / chunkBytes) }

    /// Returns the name of a version: the same for each node, and of characters that every store
    /// keeps.
    package static func versionName(tag: String, length: Int64) -> String { SHA256Digest.of("\(length) \(tag)").hexadecimal }

    /// Whether the version may be used although the origin can't confirm it (RFC 9111 §4.2.4).
    /// Without a date its age is unknown, and it may not.
    package func mayBeUsedStale(_ rules: UseRules, now: Timestamp) -> Bool {
        guard fields[.date].flatMap({ HTTPDate.parse($0, now: now) }) != nil else { return false }
        let validator = Validator.strong(entityTag: tag)
        let version = Representation(length: length, validator: validator, fields: fields, requestTime: now, responseTime: now)
        return rules.mayUseUnvalidated(version, now: now)
    }

    // MARK: Chunks

    /// The range of the object that has all chunks of a range of the resource.
    package func chunks(of range: ByteRange) -> ByteRange {
        let lower = range.lowerBound / Self.chunkBytes * Self.chunkBytes
        let upper = (range.upperBound + Self.chunkBytes - 1) / Self.chunkBytes * Self.chunkBytes
        return ByteRange(lower: lower, upper: min(upper, length))
    }

    /// Whether bytes are those of the chunk that begins at `offset`.
    package func verifies(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        let first = Int(offset / Self.chunkBytes) * Self.digestBytes
        guard offset >= 0, offset % Self.chunkBytes == 0, first < digests.count,
            Int64(bytes.count) == min(Self.chunkBytes, length - offset)
        else { return false }
        return SHA256Digest.of(bytes).elementsEqual(digests[first..<first + Self.digestBytes])
    }

    // MARK: Writing

    /// Returns the number of bytes of a trailer.
    package static func trailerBytes(key: ResourceKey, length: Int64, fields: HTTPFields) -> Int {
        chunkCount(of: length) * digestBytes + lines(key, fields).utf8.count + footerBytes
    }

    /// The trailer of the object.
    package var trailer: [UInt8] {
        let lines = Array(Self.lines(key, fields).utf8)
        var bytes = digests + lines + Self.magic
        for number in [length, Self.chunkBytes, Int64(lines.count)] { bytes += withUnsafeBytes(of: number.bigEndian, Array.init) }
        return bytes + bytes.withUnsafeBytes { SHA256Digest.of($0) }
    }

    private static func lines(_ key: ResourceKey, _ fields: HTTPFields) -> String {
        fields.lines.reduce(into: key.string + "\n") { text, field in text += "\(field.name): \(field.value)\n" }
    }

    // MARK: Reading

    /// The result of reading the last bytes of an object.
    package enum Reading: Equatable, Sendable {
        case manifest(BucketManifest)
        /// The trailer is longer: this many of the last bytes are needed.
        case more(Int)
        /// It is not an object of a resource with this key.
        case foreign
    }

    /// Reads the last bytes of an object.
    ///
    /// - Parameters:
    ///   - tail: The last bytes, as many as were received.
    ///   - objectBytes: The length of the whole object.
    ///   - key: The key of the resource that the object should have.
    package static func read(_ tail: [UInt8], objectBytes: Int64, key: ResourceKey) -> Reading {
        guard tail.count >= footerBytes else { return .foreign }
        let end = tail.count - digestBytes
        let footer = tail.count - footerBytes
        guard tail[footer..<footer + magic.count].elementsEqual(magic) else { return .foreign }
        let numbers = (0..<3).map { number(tail, at: footer + magic.count + 8 * $0) }
        let (length, lineBytes) = (numbers[0], numbers[2])
        guard length > 0, length <= maximumObjectBytes, numbers[1] == chunkBytes, (0...Int64(maximumTrailerBytes)).contains(lineBytes)
        else { return .foreign }
        let trailerBytes = chunkCount(of: length) * digestBytes + Int(lineBytes) + footerBytes
        guard trailerBytes <= maximumTrailerBytes, length + Int64(trailerBytes) == objectBytes else { return .foreign }
        guard tail.count >= trailerBytes else { return .more(trailerBytes) }
        let begin = tail.count - trailerBytes
        guard tail.withUnsafeBytes({ SHA256Digest.of(UnsafeRawBufferPointer(rebasing: $0[begin..<end])) }).elementsEqual(tail[end...])
        else { return .foreign }
        let table = begin..<begin + chunkCount(of: length) * digestBytes
        return parsed(tail[table.upperBound..<footer], Array(tail[table]), length, key)
    }

    private static func parsed(_ text: ArraySlice<UInt8>, _ digests: [UInt8], _ length: Int64, _ key: ResourceKey) -> Reading {
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first.map(String.init) == key.string, lines.last?.isEmpty == true else { return .foreign }
        let fields = lines.dropFirst().dropLast().compactMap { HTTPFields.Field(line: String($0)) }
        guard fields.count == lines.count - 2,
            let manifest = BucketManifest(key: key, length: length, fields: HTTPFields(fields), digests: digests)
        else { return .foreign }
        return .manifest(manifest)
    }

    /// Reads eight bytes that are inside `bytes`.
    private static func number(_ bytes: [UInt8], at offset: Int) -> Int64 {
        Int64(bitPattern: bytes[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) })
    }
}
