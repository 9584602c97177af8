package import SpoolCore
package import SpoolOrigin

/// The response of a test origin to one request, before it is sent: the pure part of both origins,
/// scripted and on sockets.
///
/// It parses `Range` and the conditions itself instead of using the core, so that a mistake there
/// is not repeated here.
package struct OriginAnswer: Sendable {
    /// The kind of response.
    package enum Kind: Hashable, Sendable {
        /// `head`, then `body`.
        case response
        /// These bytes, and then the end of the connection.
        case raw([UInt8])
        /// No byte, for ever.
        case silence
        /// No connection.
        case refuse
    }

    /// The end of the body.
    package enum Ending: Hashable, Sendable {
        /// The body is sent to its end.
        case complete
        /// The body breaks off after this many bytes.
        case cut(afterBytes: Int64, OriginCut)
        /// The body stops after this many bytes, and the connection stays open.
        case stall(afterBytes: Int64)
    }

    /// The kind of response.
    package var kind = Kind.response
    /// The pace of the response.
    package var pace = OriginPace()
    /// The 1xx responses before the head: their status and number.
    package var informational: (status: Int, count: Int) = (103, 0)
    /// The head of the response.
    package var head: ResponseHead
    /// The body of the response.
    package var body: OriginBody
    /// The framing of the body.
    package var framing = OriginFraming.length
    /// The end of the body.
    package var ending = Ending.complete
    /// Whether only the head is sent.
    package var isHeadOnly = false

    /// The number of body bytes that are sent.
    package var sentBytes: Int64 {
        if isHeadOnly { return 0 }
        return plannedBytes
    }

    private var plannedBytes: Int64 {
        switch ending {
        case .complete: body.count
        case .cut(let bytes, _), .stall(let bytes): min(max(0, bytes), body.count)
        }
    }

    /// Decides on the response.
    ///
    /// - Parameters:
    ///   - request: The request to answer.
    ///   - resource: The resource of the URL, or nil for a 404.
    ///   - behaviour: The behaviour of the origin.
    ///   - date: The value of `Date`.
    package init(to request: OriginRequest, resource: VirtualResource?, behaviour: OriginBehaviour, date: Timestamp) {
        self.init(head: ResponseHead(status: 404, fields: ["Content-Type": "text/plain"]), body: .bytes(Array("no such resource\n".utf8)))
        head.fields.append("Content-Length", String(body.count))
        apply(behaviour, request, resource)
        settleFraming()
        isHeadOnly = request.method == "HEAD"
        if head.fields["Date"] == nil { head.fields.lines.insert(.init(name: "Date", value: HTTPDate.format(date)), at: 0) }
    }

    private init(head: ResponseHead, body: OriginBody) {
        self.head = head
        self.body = body
    }

    private mutating func apply(_ behaviour: OriginBehaviour, _ request: OriginRequest, _ resource: VirtualResource?) {
        switch behaviour {
        case .correct where request.method != "GET" && request.method != "HEAD": echo(request)
        case .correct: serve(request, resource)
        case .ignoresRange: serve(request, resource) { $0.asked = .whole }
        case .ignoresIfRange: serve(request, resource) { $0.isCurrent = true }
        case .shiftedRange(let distance): serve(request, resource) { $0.asked.shift(by: distance) }
        case .shorterRange(let bytes): serve(request, resource) { $0.asked.clip(to: bytes) }
        case .silence: kind = .silence
        case .refuse: kind = .refuse
        case .raw(let bytes): kind = .raw(bytes)
        case .status(let status, let fields, let bytes):
            head = ResponseHead(status: status, fields: fields)
            body = .bytes(bytes)
            if fields["Content-Length"] == nil, status != 204, status != 304 { head.fields.append("Content-Length", String(bytes.count)) }
        case .paced(let pace, let other):
            apply(other, request, resource)
            self.pace = pace
        case .informational(let status, let count, let other):
            apply(other, request, resource)
            informational = (status, count)
        case .fields(let fields, let other):
            apply(other, request, resource)
            for field in fields.lines { head.fields[field.name] = nil }
            head.fields.lines += fields.lines
        case .without(let names, let other):
            apply(other, request, resource)
            for name in names { head.fields[name] = nil }
        case .unknownLength(let framing, let other):
            apply(other, request, resource)
            self.framing = framing
            if framing != .length { head.fields["Content-Length"] = nil }
            if framing == .chunked { head.fields["Transfer-Encoding"] = "chunked" }
        case .cut(let bytes, let cut, let other):
            apply(other, request, resource)
            ending = .cut(afterBytes: bytes, cut)
        case .stall(let bytes, let other):
            apply(other, request, resource)
            ending = .stall(afterBytes: bytes)
        }
    }

    /// Ends a body without length and without chunks with its connection (RFC 9112 §6.3).
    private mutating func settleFraming() {
        if framing == .length, body.count > 0, head.fields["Content-Length"] == nil { framing = .close }
    }

    // MARK: Correct answers

    /// Makes a response that repeats the method in `X-Echo`. `echo(body:)` adds the body of the
    /// request.
    private mutating func echo(_ request: OriginRequest) {
        head = ResponseHead(status: 200, fields: ["X-Echo": request.method, "Content-Type": "text/plain"])
        body = .bytes(Array("done\n".utf8))
        head.fields.append("Content-Length", String(body.count))
    }

    /// Adds the body of the request to `X-Echo`: its length and its FNV-1a hash.
    package mutating func echo(body bytes: [UInt8]) {
        guard let method = head.fields["X-Echo"] else { return }
        let sum = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        head.fields["X-Echo"] = "\(method) \(bytes.count) \(String(sum, radix: 16))"
    }

    /// The reading of one request for a resource. A behaviour may change it to a wrong one.
    private struct Reading {
        var asked: AskedPart
        /// Whether `If-Range` is absent or names this version.
        var isCurrent: Bool
    }

    private mutating func serve(_ request: OriginRequest, _ resource: VirtualResource?, misread: (inout Reading) -> Void = { _ in }) {
        guard let resource else { return }
        if resource.isUnchanged(for: request.fields) { return notModified(resource) }
        var reading = Reading(
            asked: resource.supportsRanges ? AskedPart(request.fields["Range"], length: resource.length) : .whole,
            isCurrent: request.fields["If-Range"].map(resource.matches(ifRange:)) != false)
        misread(&reading)
        if !reading.isCurrent { reading.asked = .whole }
        switch reading.asked {
        case .whole: whole(resource)
        case .part(let range): part(range, of: resource)
        case .none: unsatisfiable(resource)
        }
    }

    private mutating func whole(_ resource: VirtualResource) {
        head = ResponseHead(status: 200, fields: resource.responseFields)
        head.fields.append("Content-Length", String(resource.length))
        body = .content(resource.content, from: 0, count: resource.length)
    }

    private mutating func part(_ range: ByteRange, of resource: VirtualResource) {
        head = ResponseHead(status: 206, fields: resource.responseFields)
        head.fields.append("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(resource.length)")
        head.fields.append("Content-Length", String(range.count))
        body = .content(resource.content, from: range.lowerBound, count: range.count)
    }

    private mutating func unsatisfiable(_ resource: VirtualResource) {
        head = ResponseHead(status: 416, fields: ["Content-Range": "bytes */\(resource.length)", "Content-Length": "0"])
        body = .bytes([])
    }

    private mutating func notModified(_ resource: VirtualResource) {
        head = ResponseHead(status: 304, fields: resource.responseFields)
        body = .bytes([])
    }
}

/// The bytes of a response.
package enum OriginBody: Hashable, Sendable {
    /// A part of made-up content.
    case content(OriginContent, from: Int64, count: Int64)
    /// The given bytes.
    case bytes([UInt8])

    /// The number of bytes.
    package var count: Int64 {
        switch self {
        case .content(_, _, let count): count
        case .bytes(let bytes): Int64(bytes.count)
        }
    }

    /// Fills `buffer` with the bytes from `offset` on, counted from the first byte of the body.
    package func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) {
        switch self {
        case .content(let content, let from, _): content.fill(buffer, at: from + offset)
        case .bytes(let bytes):
            bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[Int(offset)..<Int(offset) + buffer.count])) }
        }
    }
}

/// The part of a resource of known length that `Range` asks for (RFC 9110 §14.1.2, §14.2).
private enum AskedPart {
    case whole
    case part(ByteRange)
    /// No byte of the resource.
    case none

    init(_ field: String?, length: Int64) {
        self = .whole
        guard let field, field.prefix(6).equalsIgnoringCase("bytes=") else { return }
        let bounds = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        // Several ranges at once may be answered with the whole body (RFC 9110 §14.2).
        guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else { return }
        // A position beyond every number lies behind the end of every resource.
        let positions = bounds.map { $0.isEmpty ? nil : Int64($0) ?? Int64.max }
        switch (positions[0], positions[1]) {
        case (nil, nil): return
        case (nil, let suffix?): self = .inside(max(0, length - suffix), length)
        case (let first?, nil): self = .inside(first, length)
        case (let first?, let last?) where first <= last: self = .inside(first, min(last, length - 1) + 1)
        case (_?, _?): return
        }
    }

    private static func inside(_ lower: Int64, _ upper: Int64) -> AskedPart {
        ByteRange(lower, upper).map(AskedPart.part) ?? .none
    }

    mutating func shift(by distance: Int64) {
        guard case .part(let range) = self else { return }
        self = .inside(max(0, range.lowerBound + distance), max(0, range.upperBound + distance))
    }

    mutating func clip(to bytes: Int64) {
        guard case .part(let range) = self else { return }
        self = .inside(range.lowerBound, min(range.upperBound, range.lowerBound + max(1, bytes)))
    }
}

extension VirtualResource {
    /// The fields that 200, 206 and 304 share.
    fileprivate var responseFields: HTTPFields {
        var result: HTTPFields = [:]
        if let contentType { result.append("Content-Type", contentType) }
        if let entityTag { result.append("ETag", entityTag) }
        if let lastModified { result.append("Last-Modified", HTTPDate.format(lastModified)) }
        result.append("Accept-Ranges", supportsRanges ? "bytes" : "none")
        for field in fields.lines { result[field.name] = field.value }
        return result
    }

    /// Returns whether `If-Range` names this version, by strong comparison (RFC 9110 §13.1.5): a
    /// weak tag never matches, a date only exactly.
    fileprivate func matches(ifRange value: String) -> Bool {
        if value.hasPrefix("\"") { return value == entityTag }
        return lastModified.map { HTTPDate.format($0) == value } == true
    }

    /// Returns whether the condition of the request is answered with 304 (RFC 9110 §13.1.2,
    /// §13.1.3).
    fileprivate func isUnchanged(for fields: HTTPFields) -> Bool {
        func opaque(_ tag: Substring) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag }
        if let tags = fields.combined("If-None-Match") {
            guard let entityTag else { return false }
            return tags.split(separator: ",").contains { opaque($0.drop { $0 == " " }) == opaque(entityTag[...]) } || tags == "*"
        }
        guard let since = fields["If-Modified-Since"], let lastModified else { return false }
        return since == HTTPDate.format(lastModified)
    }
}
