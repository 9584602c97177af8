import SpoolCore

/// Reads the renditions of a multivariant playlist, or the parts of a media playlist.
///
/// `HLSPlaylist` finds the references. This type adds the tags around them: the variant that a line
/// belongs to, and the bytes of a segment.
struct HLSOutline {
    private(set) var outline = StreamOutline()
    private let references: ManifestReferences
    private let isMultivariant: Bool
    private var budget: OutlineBudget
    /// The index of the first reference behind the lines that were read.
    private var next = 0
    private var variant: (attributes: HLSAttributes, line: Range<Int>)?
    private var range: (count: Int64, offset: Int64?)?
    /// The end of the last range, for the next one without an offset.
    private var rangeEnd: (url: String, offset: Int64)?
    private var isGap = false
    private var parts: [StreamPart] = []
    /// The time at which each of the parts is needed, and the time and duration of the next
    /// segment, in seconds.
    private var times: [Double] = []
    private var time = 0.0
    private var duration = 0.0
    /// The longest segment, in seconds: a day.
    private static let maxDuration = 86_400.0

    init(_ bytes: [UInt8], at url: String, variables: [String: String], limits: ManifestLimits) throws(ParseError) {
        let playlist = try HLSPlaylist(bytes, at: url, variables: variables, limits: limits)
        references = playlist.contents.references
        budget = OutlineBudget(limits)
        isMultivariant = playlist.contents.kind == .hlsMultivariant
        outline.isMultivariant = isMultivariant
        outline.isLive = !isMultivariant && playlist.contents.lifetime != .byHTTP
        outline.variables = playlist.contents.variables
        for line in bytes.split(separator: .lineFeed) {
            // The span has the line end, so that removing it leaves no empty line.
            let span = line.startIndex..<min(line.endIndex + 1, bytes.count)
            try read(line.last == .carriageReturn ? line.dropLast() : line, span)
        }
        guard !isMultivariant else { return }
        var rendition = StreamRendition(kind: .video, group: "")
        (rendition.parts, rendition.times) = (parts, times)
        outline.renditions = [rendition]
    }

    private mutating func read(_ line: ArraySlice<UInt8>, _ span: Range<Int>) throws(ParseError) {
        let first = next
        while next < references.count, references.span(at: next).lowerBound < line.endIndex { next += 1 }
        let found = references[first..<next]
        if line.begins(with: "#EXT-X-STREAM-INF:") {
            variant = (HLSAttributes(line.dropFirst(18)), span)
        } else if line.begins(with: "#EXT-X-MEDIA:") {
            try addRendition(HLSAttributes(line.dropFirst(13)), found.first, span)
        } else if line.begins(with: "#EXT-X-I-FRAME-STREAM-INF:") || line.begins(with: "#EXT-X-IMAGE-STREAM-INF:") {
            if let reference = found.first { try addPictures(reference, span) }
        } else if line.begins(with: "#EXTINF:") {
            duration = Self.duration(line.dropFirst(8))
        } else if line.begins(with: "#EXT-X-BYTERANGE:") {
            range = Self.range(line.dropFirst(17))
        } else if line.begins(with: "#EXT-X-GAP") {
            isGap = true
        } else if line.begins(with: "#EXT-X-MAP:") {
            guard let reference = found.first, let url = try url(of: reference) else { return }
            let bytes = HLSAttributes(line.dropFirst(11))["BYTERANGE"].flatMap { Self.range($0.value) }
            add(StreamPart(url: url, range: bytes.flatMap { ByteRange(offset: $0.offset ?? 0, count: $0.count) }))
        } else if line.first == .hash {
            try addOthers(found)
        } else if let reference = found.first {
            try addLine(reference, span)
        }
    }

    /// Adds the resource of a line without `#`.
    private mutating func addLine(_ reference: ManifestReference, _ span: Range<Int>) throws(ParseError) {
        defer { (variant, range, isGap) = (nil, nil, false) }
        guard let url = try url(of: reference) else { return }
        if isMultivariant {
            addVariant(url, span)
        } else if !isGap {
            add(segment(url))
        }
        time += duration
        duration = 0
    }

    private mutating func segment(_ url: String) -> StreamPart {
        guard let range else { return StreamPart(url: url) }
        let previous = rangeEnd.flatMap { $0.url == url ? $0.offset : nil }
        let part = StreamPart(url: url, range: ByteRange(offset: range.offset ?? previous ?? 0, count: range.count))
        rangeEnd = part.range.map { (url, $0.upperBound) }
        return part
    }

    private mutating func addVariant(_ url: String, _ span: Range<Int>) {
        guard let (attributes, line) = variant else { return }
        var rendition = StreamRendition(kind: .video, group: "")
        rendition.bandwidth = Self.number(attributes["BANDWIDTH"]) ?? 0
        rendition.height = attributes["RESOLUTION"].flatMap { Int64($0.value.split(separator: UInt8(ascii: "x")).last?.text ?? "") } ?? 0
        rendition.audioGroup = attributes["AUDIO"]?.value.text
        rendition.subtitleGroup = attributes["SUBTITLES"]?.value.text
        rendition.subtitleAttribute = attributes.removableSpan(of: "SUBTITLES")
        rendition.playlist = url
        rendition.places = [line, span]
        outline.renditions.append(rendition)
    }

    private mutating func addRendition(
        _ media: HLSAttributes, _ reference: ManifestReference?, _ span: Range<Int>
    ) throws(ParseError) {
        guard let type = media["TYPE"]?.value.text, let group = media["GROUP-ID"]?.value.text else { return }
        guard let reference, let url = try url(of: reference) else {
            if type == "AUDIO", reference == nil { outline.groupsInside.insert(group) }
            return
        }
        let kind: StreamRendition.Kind = type == "AUDIO" ? .audio : type == "SUBTITLES" ? .subtitles : .other
        var rendition = StreamRendition(kind: kind, group: group)
        rendition.language = media["LANGUAGE"]?.value.text ?? ""
        rendition.isDefault = media["DEFAULT"]?.value.equals("YES") == true
        rendition.playlist = url
        rendition.places = [span]
        outline.renditions.append(rendition)
    }

    /// Adds the playlist of pictures for seeking.
    private mutating func addPictures(_ reference: ManifestReference, _ span: Range<Int>) throws(ParseError) {
        guard let url = try url(of: reference) else { return }
        var rendition = StreamRendition(kind: .other, group: "")
        rendition.playlist = url
        rendition.places = [span]
        outline.renditions.append(rendition)
    }

    /// Adds keys and data of the session.
    private mutating func addOthers(_ found: Slice<ManifestReferences>) throws(ParseError) {
        for reference in found where [.key, .sessionData].contains(reference.role) {
            guard let url = try url(of: reference) else { continue }
            if isMultivariant { outline.sharedParts.append(StreamPart(url: url)) } else { add(StreamPart(url: url)) }
        }
    }

    /// Adds a part. Keys and maps repeat.
    private mutating func add(_ part: StreamPart) {
        guard parts.last != part else { return }
        parts.append(part)
        times.append(time)
    }

    /// The URL of a resource that a cache can have.
    private mutating func url(of reference: ManifestReference) throws(ParseError) -> String? {
        try budget.spend(reference.base.url.text.utf8.count)
        try budget.spend(reference.text.utf8.count)
        return reference.url.flatMap { url in ["http://", "https://"].contains { url.asciiLowercased.hasPrefix($0) } ? url : nil }
    }

    private static func number(_ attribute: HLSAttributes.Attribute?) -> Int64? { attribute.flatMap { Int64($0.value.text) } }

    /// Reads the seconds of `EXTINF`; 0 for a broken number.
    private static func duration(_ text: ArraySlice<UInt8>) -> Double {
        guard let seconds = Double(text.prefix { $0 != UInt8(ascii: ",") }.trimmed.text), seconds > 0 else { return 0 }
        return min(seconds, maxDuration)
    }

    /// Reads `n[@o]`.
    private static func range(_ text: ArraySlice<UInt8>) -> (count: Int64, offset: Int64?)? {
        let numbers = text.trimmed.split(separator: UInt8(ascii: "@")).map { Int64($0.text) }
        guard let first = numbers.first, let count = first else { return nil }
        return (count, numbers.count > 1 ? numbers[1] : nil)
    }
}
