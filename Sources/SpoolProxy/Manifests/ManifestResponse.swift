import SpoolCore
import SpoolManifests
import SpoolServer

/// The response with a body in memory: conditions, one range, HEAD.
struct ManifestResponse {
    let request: RequestHead
    let body: [UInt8]
    /// The representation that the body is, with its own tag and length.
    let representation: Representation

    /// Creates the response for a rewritten manifest.
    init(_ entry: ManifestMemo.Entry, of representation: Representation, request: RequestHead) {
        self.request = request
        body = entry.body
        var own = representation
        for name in Self.ofOriginalBytes { own.fields[name] = nil }
        // Scripts send playlists as pages, and players would not look at the bytes of a page.
        if representation.contentType.flatMap(MediaType.init)?.essence == "text/html" { own.fields[.contentType] = entry.kind.mediaType }
        own.fields[.entityTag] = entry.tag
        if entry.isReduced { own.fields[.cacheControl] = "no-store" }
        own.validator = .strong(entityTag: entry.tag)
        own.length = Int64(entry.body.count)
        self.representation = own
    }

    /// Creates the response for bytes as they came.
    init(_ bytes: [UInt8], of representation: Representation, request: RequestHead) {
        self.request = request
        body = bytes
        self.representation = representation
    }

    /// Fields that describe the bytes at the origin.
    private static let ofOriginalBytes: [HTTPFields.Name] = [
        .contentEncoding, .contentMD5, .digest, .contentDigest, .reprDigest, .acceptRanges,
    ]

    /// Returns the response, whose request demands no other version.
    ///
    /// - Parameters:
    ///   - fields: The fields of every response with this representation.
    ///   - rules: The rules for the fields of an error.
    func response(_ fields: HTTPFields, _ rules: ResourceFields) -> Response {
        var fields = fields
        guard case .proceed(let honoursRange) = Precondition.evaluate(fields: request.fields, representation: representation) else {
            return Response(304, fields: fields)
        }
        if request.method == "HEAD" {
            fields[.contentLength] = String(body.count)
            return Response(200, fields: fields)
        }
        let range = honoursRange ? request[.range].flatMap(RangeHeader.init) : nil
        switch range?.resolve(length: Int64(body.count)) ?? .whole {
        case .unsatisfiable:
            let field = ContentRange.unsatisfied(length: .bytes(Int64(body.count))).fieldValue
            return .error(416, "the manifest has \(body.count) bytes", fields: rules.error([.contentRange: field]))
        case .ranges(let ranges) where ranges.count == 1:
            let range = ranges[0]
            fields[.contentRange] = ContentRange.part(range, length: .bytes(Int64(body.count))).fieldValue
            return Response(206, fields: fields, body: .part(body[Int(range.lowerBound)..<Int(range.upperBound)]))
        // Several ranges of a small body may be answered by the whole one (RFC 9110 §14.2).
        case .whole, .ranges: return Response(200, fields: fields, body: .bytes(body))
        }
    }
}
