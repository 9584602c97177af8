package import SpoolCore

/// A part of a resource that the system downloaded into a file while the process was suspended or
/// gone, with the head of the origin's response.
package struct ReceivedFile: Sendable {
    /// The URL of the request.
    package let url: String
    /// The bytes of the resource that the file has.
    package let range: ByteRange
    /// The length of the resource.
    package let length: Int64
    /// The strong validator of the version, as it is sent in `If-Range`. Nil for a whole resource
    /// without one.
    package let validator: String?
    /// The fields of the response that describe the resource.
    let fields: HTTPFields
    /// The fields of the request that may have selected the bytes.
    let requestFields: Set<HTTPFields.Field>
    /// Reads bytes at an offset of the file. Returns the number of bytes, or nil if that fails.
    let read: @Sendable (UnsafeMutableRawBufferPointer, Int64) -> Int?

    /// The request that a system's download made.
    package struct Request: Hashable, Sendable {
        /// The URL of the request.
        package var url: String
        /// The first byte that it asked for.
        package var lower: Int64
        /// The end of the bytes that it asked for, or nil for the end of the resource. An answer may
        /// end earlier or later.
        package var upper: Int64?
        /// The value of `If-Range`, or nil if nothing was stored.
        package var ifRange: String?

        /// Creates a request.
        package init(url: String, lower: Int64, upper: Int64? = nil, ifRange: String?) {
            self.url = url
            self.lower = lower
            self.upper = upper
            self.ifRange = ifRange
        }
    }

    /// The reason why a file is not used.
    package enum Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        case status(Int)
        case contentCoding(String)
        case noRange
        case otherRange(ByteRange, asked: Int64)
        case otherVersion
        case wrongSize(fileBytes: Int64, stated: Int64)
        case unknownLength

        /// The reason in words.
        package var description: String {
            switch self {
            case .status(let status): "the origin answered \(status)"
            case .contentCoding(let coding): "its bytes are coded by \(coding)"
            case .noRange: "its response names no range"
            case .otherRange(let range, let asked): "its response has \(range), and byte \(asked) was asked for"
            case .otherVersion: "it is of another version than the stored bytes"
            case .wrongSize(let fileBytes, let stated): "it has \(fileBytes) bytes, and its response states \(stated)"
            case .unknownLength: "its response does not state the length of the resource"
            }
        }
    }

    /// Checks a finished download by its request and its response.
    ///
    /// A 206 must begin at the requested byte, state the length, have as many bytes as its
    /// `Content-Range`, and carry the strong validator of the request. A 200 is used only when
    /// nothing was stored and its length is stated: a connection that broke ends such a body, too.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - request: The URL, the first byte and the validator of the request.
    ///   - fields: The other fields of the request.
    ///   - fileBytes: The size of the file, in bytes.
    ///   - read: Reads bytes at an offset of the file.
    /// - Throws: The reason why the file must not be used.
    package init(
        _ head: ResponseHead, for request: Request, fields requestFields: HTTPFields, fileBytes: Int64,
        read: @escaping @Sendable (UnsafeMutableRawBufferPointer, Int64) -> Int?
    ) throws(Refusal) {
        if let coding = head.fields.contentCoding { throw .contentCoding(coding) }
        let validator = Self.strongValidator(head.fields)
        switch head.status {
        case 206:
            let found: ContentRange?
            do { found = try ContentRange.parse(head.fields) } catch { throw .noRange }
            guard case .part(let range, let stated) = found else { throw .noRange }
            guard range.lowerBound == request.lower else { throw .otherRange(range, asked: request.lower) }
            guard case .bytes(let length) = stated else { throw .unknownLength }
            guard range.count == fileBytes else { throw .wrongSize(fileBytes: fileBytes, stated: range.count) }
            let isOfVersion = validator != nil && validator == request.ifRange
            guard isOfVersion || (request.lower == 0 && request.ifRange == nil) else { throw .otherVersion }
            (self.range, self.length) = (range, length)
        case 200:
            guard request.lower == 0, request.ifRange == nil else { throw .otherVersion }
            guard let stated = head.fields[.contentLength].flatMap({ Int64($0) }) else { throw .unknownLength }
            guard stated == fileBytes else { throw .wrongSize(fileBytes: fileBytes, stated: stated) }
            guard let range = ByteRange(0, fileBytes) else { throw .unknownLength }
            (self.range, self.length) = (range, fileBytes)
        default:
            throw .status(head.status)
        }
        url = request.url
        self.validator = validator
        self.read = read
        self.requestFields = Self.selecting(requestFields)
        var fields = head.fields
        for name: HTTPFields.Name in [.contentRange, .contentLength, .contentEncoding, .transferEncoding] { fields[name] = nil }
        self.fields = fields
    }

    /// Returns the strong validator of a response as `If-Range` sends it, or nil.
    package static func strongValidator(_ fields: HTTPFields) -> String? {
        guard let tag = fields[.entityTag], !tag.hasPrefix("W/") else { return nil }
        return tag
    }

    /// Returns the fields that may select other bytes of a URL: all but those for ranges and
    /// codings.
    private static func selecting(_ fields: HTTPFields) -> Set<HTTPFields.Field> {
        let others: [HTTPFields.Name] = [.range, .ifRange, .acceptEncoding]
        return Set(
            fields.lines.filter { line in !others.contains { line.isNamed($0) } }
                .map { HTTPFields.Field(name: $0.name.asciiLowercased, value: $0.value) })
    }

    /// Returns the response to a request, or nil if the origin has to answer it.
    ///
    /// The file answers a GET for bytes that it has, with the same fields as its own request. A
    /// request that names another version, or asks the origin to confirm one, is not answered.
    func answer(to request: OriginRequest) -> (head: ResponseHead, range: ByteRange)? {
        guard request.url == url, request.method == "GET", request.body == nil else { return nil }
        let isConfirmation = request.fields[.ifNoneMatch] != nil || request.fields[.ifModifiedSince] != nil
        guard !isConfirmation else { return nil }
        if let ifRange = request.fields[.ifRange], ifRange != validator { return nil }
        guard Self.selecting(request.fields) == requestFields else { return nil }
        guard let asked = asked(by: request), let answered = ByteRange(asked.lowerBound, min(asked.upperBound, range.upperBound)),
            range.lowerBound <= answered.lowerBound
        else { return nil }
        var fields = fields
        fields[.contentRange] = "bytes \(answered.lowerBound)-\(answered.upperBound - 1)/\(length)"
        fields[.contentLength] = "\(answered.count)"
        return (ResponseHead(status: 206, fields: fields), answered)
    }

    /// The bytes that a request names by one range.
    private func asked(by request: OriginRequest) -> ByteRange? {
        guard let specs = RangeHeader(request.fields)?.specs, specs.count == 1, let spec = specs.first else { return nil }
        switch spec {
        case .bounded(let first, let last): return ByteRange(first, min(last, length - 1) + 1)
        case .from(let first): return ByteRange(first, length)
        case .suffix: return nil
        }
    }
}
