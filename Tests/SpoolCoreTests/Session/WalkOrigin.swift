import SpoolCore

/// A simple model of an origin for small worlds: its version, its length, and how well it follows
/// the rules.
struct WalkOrigin {
    enum Tag: CaseIterable {
        case strong, weak, none
        /// A weak tag that stays the same when the bytes change, which RFC 9110 permits.
        case careless
    }

    /// The answer to a request for the last bytes.
    enum SuffixAnswer: CaseIterable {
        /// 206, the whole, or 416 although there are such bytes.
        case part, whole, refusal
    }

    var version = 1
    var length: Int64
    var tag = Tag.strong
    var hasRanges = true
    var suffixAnswer = SuffixAnswer.part
    var tellsLength = true
    var noStore = false
    /// The value of `Cache-Control` where it is not only `no-store`.
    var cacheControl: String?
    /// Whether parts may begin earlier than requested.
    var isSloppy = false

    /// Returns the byte of a version at an offset. It differs between neighbours and between
    /// versions.
    static func byte(_ version: Int, _ offset: Int64) -> UInt8 {
        UInt8(truncatingIfNeeded: (offset &* 31) ^ (offset >> 3) ^ Int64(version &* 101))
    }

    /// The value of `ETag`.
    var tagValue: String? {
        switch tag {
        case .strong: "\"v\(version)\""
        case .weak: "W/\"v\(version)\""
        case .careless: "W/\"same\""
        case .none: nil
        }
    }

    /// An answer: its head, and the version and range of its body.
    struct Answer {
        var status: Int
        var fields: HTTPFields
        var version: Int
        var body: Range<Int64>
    }

    func answer(_ ask: OriginAsk, using random: inout SeededGenerator) -> Answer {
        var fields = HTTPFields()
        fields["ETag"] = tagValue
        fields["Cache-Control"] = noStore ? "no-store" : cacheControl
        if let tag = ask.revalidation?.entityTag, tag == tagValue {
            return Answer(status: 304, fields: fields, version: version, body: 0..<0)
        }
        let isOutdated = ask.ifRange != nil && ask.ifRange != tagValue
        var ask = ask
        if let suffix = ask.suffix { ask.lower = max(0, length - suffix) }
        if ask.suffix != nil, suffixAnswer == .refusal { return Answer(status: 416, fields: fields, version: version, body: 0..<0) }
        if !hasRanges || isOutdated || (ask.suffix != nil && suffixAnswer == .whole) {
            if tellsLength { fields["Content-Length"] = String(length) }
            return Answer(status: 200, fields: fields, version: version, body: 0..<length)
        }
        guard ask.lower < length else {
            fields["Content-Range"] = "bytes */\(length)"
            return Answer(status: 416, fields: fields, version: version, body: 0..<0)
        }
        let lower = !isSloppy || Bool.random(using: &random) ? ask.lower : max(0, ask.lower - Int64.random(in: 0...3, using: &random))
        var upper = min(ask.upper ?? length, length)
        if Int.random(in: 0..<6, using: &random) == 0 { upper = Int64.random(in: ask.lower + 1...upper, using: &random) }
        // Without a total it stays open whether the part is the last one.
        fields["Content-Range"] = "bytes \(lower)-\(upper - 1)/\(tellsLength ? String(length) : "*")"
        return Answer(status: 206, fields: fields, version: version, body: lower..<upper)
    }
}
