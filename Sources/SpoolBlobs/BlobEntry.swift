import SpoolCore
import SpoolJSON
import SpoolStore
import SpoolSystem

/// The entry of one key: its resource with the blobs of its bytes, and its pin.
///
/// The form is a CRC32C in eight digits, and a JSON object behind it. The check covers the name of
/// the blob, too, so that no place can pass one entry for another.
struct BlobEntry {
    var key: ResourceKey
    var isPinned: Bool
    private var resource: StoredResource?
    var extents: [BlobFile.Extent] = []

    /// The generation of the resource, or 0 for a pin without one.
    var generation: GenerationID { resource?.generation ?? GenerationID(rawValue: 0) }

    init(_ entry: KeptEntry, _ extents: [BlobFile.Extent]) {
        (key, isPinned, resource, self.extents) = (entry.key, entry.isPinned, entry.resource, extents)
    }

    /// Returns the entry with a file over its blobs.
    func kept(in place: BlobPlace) -> KeptEntry {
        var found = resource
        found?.spans = ByteRangeSet(extents.map(\.range))
        let file = found.map { BlobFile(place, $0.generation, key, extents: extents) }
        return KeptEntry(key: key, resource: found, isPinned: isPinned, file: file)
    }

    // MARK: Writing

    func encoded(_ name: BlobName) -> [UInt8] {
        var members: [(String, JSON)] = [("key", .string(key.string)), ("pinned", .bool(isPinned))]
        if let resource { members += Self.members(of: resource) + [("blobs", .string(extents.map(Self.text).joined(separator: " ")))] }
        let body = JSON.object(members).bytes
        return Array(Self.check(of: body, name).utf8) + body
    }

    private static func members(of resource: StoredResource) -> [(String, JSON)] {
        let version = resource.representation
        let (kind, value) = text(version.validator)
        return [
            ("url", .string(resource.url)), ("generation", .integer(resource.generation.rawValue)),
            ("extension", .string(resource.fileExtension)), ("used", .integer(resource.lastAccess.nanoseconds)),
            ("length", JSON(version.length)), ("validator", .string(kind)), ("value", .string(value)),
            ("requested", .integer(version.requestTime.nanoseconds)), ("received", .integer(version.responseTime.nanoseconds)),
            ("fields", .string(String(decoding: FieldBlock.encode(version), as: UTF8.self))),
        ]
    }

    private static func text(_ validator: Validator) -> (kind: String, value: String) {
        switch validator {
        case .strong(let tag): ("strong", tag)
        case .weak(let tag): ("weak", tag)
        case .lastModified(let time, let isStrong): (isStrong ? "strongDate" : "weakDate", String(time.nanoseconds))
        case .none: ("none", "")
        }
    }

    private static func text(_ extent: BlobFile.Extent) -> String {
        let (range, piece) = (extent.range, extent.piece)
        let numbers = [
            range.lowerBound, range.upperBound, piece.range.lowerBound, piece.range.upperBound, Int64(piece.check), piece.serial,
        ]
        return numbers.map(String.init).joined(separator: "-")
    }

    private static func check(of body: some Collection<UInt8>, _ name: BlobName) -> String {
        let check = (Array(name.text.utf8) + body).withUnsafeBytes { CRC32C.of($0) }
        let digits = String(check, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    // MARK: Reading

    /// Reads an entry, or returns nil for bytes that are none.
    init?(_ bytes: [UInt8], _ name: BlobName) {
        let body = bytes.dropFirst(8)
        guard bytes.count > 8, Self.check(of: body, name) == String(decoding: bytes.prefix(8), as: UTF8.self),
            let json = JSON(text: String(decoding: body, as: UTF8.self)), let key = json["key"]?.string
        else { return nil }
        self.key = ResourceKey(normalized: key)
        isPinned = json["pinned"]?.isTrue == true
        guard json["generation"] != nil else { return }
        guard let resource = Self.resource(json, self.key), let extents = Self.extents(json["blobs"]?.string ?? "", resource)
        else { return nil }
        (self.resource, self.extents) = (resource, extents)
    }

    private static func resource(_ json: JSON, _ key: ResourceKey) -> StoredResource? {
        guard let url = json["url"]?.string, let generation = json["generation"]?.integer, let used = json["used"]?.integer,
            let validator = validator(json["validator"]?.string, json["value"]?.string ?? ""), let fields = json["fields"]?.string,
            let requested = json["requested"]?.integer, let received = json["received"]?.integer
        else { return nil }
        let block = Array(fields.utf8)
        let (known, mark) = FieldBlock.decodeVersion(block)
        var version = Representation(
            status: FieldBlock.status(block), length: json["length"]?.integer, validator: validator, fields: known,
            requestTime: Timestamp(nanoseconds: requested), responseTime: Timestamp(nanoseconds: received))
        version.mark = mark
        return StoredResource(
            key: key, url: url, generation: GenerationID(rawValue: generation), representation: version, spans: ByteRangeSet(),
            fileExtension: json["extension"]?.string ?? "", lastAccess: Timestamp(nanoseconds: used))
    }

    private static func validator(_ kind: String?, _ value: String) -> Validator? {
        switch kind {
        case "strong": .strong(entityTag: value)
        case "weak": .weak(entityTag: value)
        case "strongDate", "weakDate":
            Int64(value).map { .lastModified(Timestamp(nanoseconds: $0), isStrong: kind == "strongDate") }
        case "none": Validator.none
        default: nil
        }
    }

    /// Reads the blobs, or returns nil if they are not in order or lie behind the end.
    private static func extents(_ text: String, _ resource: StoredResource) -> [BlobFile.Extent]? {
        var extents: [BlobFile.Extent] = []
        for word in text.split(separator: " ") {
            let numbers = word.split(separator: "-").compactMap { Int64($0) }
            guard numbers.count == 6, let range = ByteRange(numbers[0], numbers[1]),
                let piece = BlobPiece(numbers[2], numbers[3], check: numbers[4], serial: numbers[5]), piece.range.contains(range),
                range.lowerBound >= extents.last?.range.upperBound ?? 0, range.upperBound <= resource.representation.length ?? .max
            else { return nil }
            extents.append(BlobFile.Extent(range: range, piece: piece))
        }
        return extents
    }
}
