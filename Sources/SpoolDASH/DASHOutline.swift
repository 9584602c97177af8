import SpoolCore
import SpoolManifests

/// Reads the representations of an MPD with all of their parts.
struct DASHOutline {
    private(set) var outline = StreamOutline()
    private let document: XMLDocument
    private let limits: ManifestLimits
    private var partCount = 0
    private var budget: OutlineBudget

    /// The time of a period, in seconds.
    private struct Span {
        var start: Double
        var duration: Double?
    }

    /// A part, and the time at which a player needs it.
    private typealias Timed = (part: StreamPart, time: Double)

    /// The elements that describe segments at one level: a representation, or one around it.
    private struct Level {
        var template: Int?
        var list: Int?
    }

    init(_ document: XMLDocument, at url: String, limits: ManifestLimits) throws(ParseError) {
        self.document = document
        self.limits = limits
        budget = OutlineBudget(limits)
        outline.isLive = document.value("type", of: 0) == "dynamic"
        let root = try ManifestBase(url)
        let base = try base(of: 0, below: root)
        let total = document.value("mediaPresentationDuration", of: 0).flatMap(DASHDuration.seconds)
        let periods = document.children(of: 0).filter { document.isDASH($0, "Period") }
        let starts = periods.map { document.value("start", of: $0).flatMap(DASHDuration.seconds) }
        var position = 0.0
        for (index, period) in periods.enumerated() {
            let start = starts[index] ?? position
            let own = document.value("duration", of: period).flatMap(DASHDuration.seconds)
            let next = index + 1 < starts.count ? starts[index + 1] : total
            let duration = own ?? next.map { $0 - start }
            position = start + (duration ?? 0)
            try readPeriod(period, name: "\(index)", Span(start: start, duration: duration), below: base)
        }
    }

    private mutating func readPeriod(_ period: Int, name: String, _ span: Span, below outer: ManifestBase) throws(ParseError) {
        let base = try base(of: period, below: outer), level = try level(period)
        for set in document.children(of: period) where document.isDASH(set, "AdaptationSet") {
            let setBase = try self.base(of: set, below: base), setLevel = try self.level(set)
            let isTrickMode = document.children(of: set).contains {
                document.isDASH($0, "EssentialProperty") && document.value("schemeIdUri", of: $0) == DASHPlace.trickModeScheme
            }
            for representation in document.children(of: set) where document.isDASH(representation, "Representation") {
                var rendition = StreamRendition(kind: isTrickMode ? .other : try kind(of: representation, in: set), group: name)
                rendition.places = [document.elements[representation].span]
                rendition.container = document.elements[set].span
                rendition.bandwidth = try number("bandwidth", [representation]) ?? 0
                rendition.height = try number("height", [representation, set]) ?? 0
                rendition.language = try value("lang", [set]) ?? ""
                let representationBase = try self.base(of: representation, below: setBase)
                let levels = [try self.level(representation), setLevel, level]
                let timed = try parts(of: representation, levels, span, representationBase)
                (rendition.parts, rendition.times) = (timed.map(\.part), timed.map(\.time))
                rendition.isOneFile = try isOneFile(levels)
                outline.renditions.append(rendition)
            }
        }
    }

    /// The base of a level. Of several alternatives, the first is taken.
    private mutating func base(of element: Int, below outer: ManifestBase) throws(ParseError) -> ManifestBase {
        for child in document.children(of: element) {
            try budget.visit()
            guard document.isDASH(child, "BaseURL"), let text = document.text(of: child)?.text else { continue }
            try budget.spend(outer.url.text.utf8.count + text.utf8.count)
            if let next = DASHBase(base: outer).appending(text) { return next.base }
        }
        return outer
    }

    private mutating func kind(of representation: Int, in set: Int) throws(ParseError) -> StreamRendition.Kind {
        var type = try value("contentType", [set]) ?? ""
        if type.isEmpty { type = try value("mimeType", [representation, set]) ?? "" }
        if type.hasPrefix("video") { return .video }
        if type.hasPrefix("audio") { return .audio }
        let codecs = try value("codecs", [representation, set]) ?? ""
        let isText = type.hasPrefix("text") || type.contains("ttml") || codecs.hasPrefix("stpp") || codecs.hasPrefix("wvtt")
        return isText ? .subtitles : .other
    }

    // MARK: Parts

    private mutating func parts(
        of representation: Int, _ levels: [Level], _ span: Span, _ base: ManifestBase
    ) throws(ParseError) -> [Timed] {
        let templates = levels.compactMap(\.template), lists = levels.compactMap(\.list)
        if try value("media", templates) != nil { return try templateParts(representation, templates, span, base) }
        if !lists.isEmpty { return try listParts(lists, span, base) }
        // The base is the media file itself.
        try count(1)
        try budget.spend(base.url.text.utf8.count)
        return [(StreamPart(url: base.url.text), span.start)]
    }

    private mutating func isOneFile(_ levels: [Level]) throws(ParseError) -> Bool {
        try value("media", levels.compactMap(\.template)) == nil && levels.allSatisfy { $0.list == nil }
    }

    /// Finds the elements that describe segments at a level.
    private mutating func level(_ element: Int) throws(ParseError) -> Level {
        Level(template: try child("SegmentTemplate", [element]), list: try child("SegmentList", [element]))
    }

    /// The value of an attribute at the innermost level that has it. Many representations may read
    /// one at an outer level.
    private mutating func value(_ name: String, _ elements: [Int]) throws(ParseError) -> String? {
        for element in elements {
            // Looking for an attribute compares all of them.
            try budget.spend(document.elements[element].attributes.count)
            guard let attribute = document.attribute(name, of: element) else { continue }
            try budget.spend(attribute.value.count)
            if let value = document.decoded(attribute.value) { return value }
        }
        return nil
    }

    private mutating func child(_ name: String, _ elements: [Int]) throws(ParseError) -> Int? {
        for element in elements {
            for child in document.children(of: element) {
                try budget.visit()
                if document.isDASH(child, name) { return child }
            }
        }
        return nil
    }

    private mutating func number(_ name: String, _ elements: [Int]) throws(ParseError) -> Int64? {
        try value(name, elements).flatMap { Int64($0) }
    }

    private mutating func templateParts(
        _ representation: Int, _ templates: [Int], _ span: Span, _ base: ManifestBase
    ) throws(ParseError) -> [Timed] {
        var template = DASHTemplate()
        template.id = document.value("id", of: representation) ?? ""
        template.bandwidth = document.value("bandwidth", of: representation) ?? ""
        var parts: [Timed] = []
        if let text = try value("initialization", templates) {
            parts += try part(template.expanded(text, number: 0, time: 0), base).map { ($0, span.start) }
        }
        let timescale = Double(max(1, try number("timescale", templates) ?? 1))
        // Only the times of a timeline count from the offset.
        var offset: Int64 = 0
        if try child("SegmentTimeline", templates) != nil {
            offset = try number("presentationTimeOffset", templates) ?? 0
        }
        let texts = [try value("index", templates), try value("media", templates)].compactMap(\.self)
        for segment in try segments(templates, span.duration) {
            let time = span.start + max(0, Double(segment.time) - Double(offset)) / timescale
            for text in texts {
                // The identifiers may have no text.
                try budget.spend(text.utf8.count)
                parts += try part(template.expanded(text, number: segment.number, time: segment.time), base).map { ($0, time) }
            }
            try count(1)
        }
        return parts
    }

    private mutating func segments(_ templates: [Int], _ duration: Double?) throws(ParseError) -> [DASHSegmentTimes.Segment] {
        let start = try number("startNumber", templates) ?? 1
        let timescale = try number("timescale", templates) ?? 1
        let offset = try number("presentationTimeOffset", templates) ?? 0
        var times = DASHSegmentTimes(startNumber: start, maxCount: limits.maxReferences)
        if let timeline = try child("SegmentTimeline", templates) {
            let end = duration.map { Double(offset) + $0 * Double(timescale) }
            for s in document.children(of: timeline) {
                try budget.visit()
                guard document.isDASH(s, "S") else { continue }
                let next = document.elements[s].next, repeats = try number("r", [s]) ?? 0
                let isLast = next >= document.elements[timeline].next
                times.add(
                    time: try number("t", [s]), duration: try number("d", [s]) ?? 0, repeats: repeats,
                    until: isLast || repeats >= 0 ? end : try number("t", [next]).map(Double.init))
            }
        } else if let length = try number("duration", templates), let duration {
            let last = try number("endNumber", templates)
            times.fill(duration: length, timescale: timescale, seconds: duration, last: last)
        }
        guard !times.isFull else { throw ParseError(offset: 0, expected: "at most \(limits.maxReferences) segments") }
        // The repetitions of an entry, which may be for a list without segments.
        try budget.visit(times.segments.count)
        return times.segments
    }

    private mutating func listParts(_ lists: [Int], _ span: Span, _ base: ManifestBase) throws(ParseError) -> [Timed] {
        var parts: [Timed] = []
        let timescale = Double(max(1, try number("timescale", lists) ?? 1))
        let duration = Double(max(0, try number("duration", lists) ?? 0)) / timescale
        let timeline = try child("SegmentTimeline", lists) == nil ? [] : try segments(lists, span.duration)
        var index = 0
        if let section = try child("Initialization", lists) {
            parts += try part(document.value("sourceURL", of: section) ?? "", base, range: try value("range", [section])).map {
                ($0, span.start)
            }
        }
        // A list at an inner level replaces those outside of it.
        var list: Int?
        for element in lists where list == nil { list = try child("SegmentURL", [element]) == nil ? nil : element }
        for segment in list.map({ Array(document.children(of: $0)) }) ?? [] {
            try budget.visit()
            guard document.isDASH(segment, "SegmentURL") else { continue }
            let first = timeline.first.map { Double($0.time) } ?? 0
            let known = index < timeline.count ? (Double(timeline[index].time) - first) / timescale : Double(index) * duration
            let time = span.start + known
            if let index = document.value("index", of: segment) {
                parts += try part(index, base, range: try value("indexRange", [segment])).map { ($0, time) }
            }
            let media = document.value("media", of: segment) ?? ""
            parts += try part(media, base, range: try value("mediaRange", [segment])).map { ($0, time) }
            index += 1
            try count(1)
        }
        return parts
    }

    private mutating func part(_ text: String, _ base: ManifestBase, range: String? = nil) throws(ParseError) -> [StreamPart] {
        try budget.spend(base.url.text.utf8.count + text.utf8.count)
        guard let url = base.resolved(text), url.hasPrefix("http") else { return [] }
        guard let range else { return [StreamPart(url: url)] }
        let ends = range.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1] else { return [StreamPart(url: url)] }
        return [StreamPart(url: url, range: ByteRange(first: first, last: last))]
    }

    private mutating func count(_ parts: Int) throws(ParseError) {
        partCount += parts
        guard partCount <= limits.maxReferences else { throw ParseError(offset: 0, expected: "at most \(limits.maxReferences) segments") }
    }
}

/// The identifiers of a segment template (ISO/IEC 23009-1 §5.3.9.4.4).
struct DASHTemplate {
    var id = ""
    var bandwidth = ""

    /// Returns the template with its identifiers replaced. An unknown identifier stays, and so does
    /// each one behind the longest text that is a URI.
    func expanded(_ template: String, number: Int64, time: Int64) -> String {
        var result = ""
        var rest = Substring(template)
        while result.utf8.count <= URIReference.maxBytes, let start = rest.firstIndex(of: "$") {
            result += rest[..<start]
            let name = rest[rest.index(after: start)...].prefix { $0 != "$" }
            guard name.endIndex < rest.endIndex else { return result + rest[start...] }
            result += value(name, number: number, time: time) ?? "$\(name)$"
            rest = rest[rest.index(after: name.endIndex)...]
        }
        return result + rest
    }

    private func value(_ name: Substring, number: Int64, time: Int64) -> String? {
        let parts = name.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        let width = parts.count > 1 ? Int(parts[1].drop { $0 == "0" }.prefix { $0.isNumber }) ?? 0 : 0
        switch parts.first {
        case "": return "$"
        case "RepresentationID": return id
        case "Bandwidth": return Self.padded(bandwidth, width)
        case "Number": return Self.padded("\(number)", width)
        case "Time": return Self.padded("\(time)", width)
        default: return nil
        }
    }

    private static func padded(_ digits: String, _ width: Int) -> String {
        String(repeating: "0", count: max(0, min(width, maxWidth) - digits.utf8.count)) + digits
    }

    /// The widest number that is written.
    private static let maxWidth = 32
}

/// The numbers and times of the segments of a template.
struct DASHSegmentTimes {
    struct Segment: Hashable {
        var number: Int64
        var time: Int64
    }

    private(set) var segments: [Segment] = []
    /// Whether there are more segments than may be listed.
    private(set) var isFull = false
    private let startNumber: Int64
    private let maxCount: Int
    private var time: Int64 = 0

    init(startNumber: Int64, maxCount: Int) {
        self.startNumber = max(0, min(startNumber, ByteRange.maximumOffset))
        self.maxCount = maxCount
    }

    /// Adds an entry of a timeline: a segment and its repetitions.
    ///
    /// - Parameter end: The time at which a negative number of repetitions ends.
    mutating func add(time start: Int64?, duration: Int64, repeats: Int64, until end: Double?) {
        if let start { time = max(0, start) }
        guard duration > 0, duration <= ByteRange.maximumOffset else { return }
        let wanted = end.map { (($0 - Double(time)) / Double(duration)).rounded(.up) } ?? 1
        var left = repeats < 0 ? max(1, Int64(saturating: wanted)) : repeats.addingSaturated(1)
        while left > 0, append() {
            let (next, overflow) = time.addingReportingOverflow(duration)
            guard !overflow else { return }
            time = next
            left -= 1
        }
    }

    /// Adds segments of equal duration up to the end of the period.
    mutating func fill(duration: Int64, timescale: Int64, seconds: Double, last: Int64?) {
        guard duration > 0, timescale > 0, seconds > 0 else { return }
        let wanted = (seconds * Double(timescale) / Double(duration) - 0.001).rounded(.up)
        var count = max(1, min(Int64(saturating: wanted), Int64(maxCount) + 1))
        if let last { count = max(0, min(count, last.subtractingSaturated(startNumber).addingSaturated(1))) }
        // A negative number of repetitions goes up to the end.
        guard count > 0 else { return }
        add(time: 0, duration: duration, repeats: count - 1, until: nil)
    }

    /// Adds a segment at the present time.
    /// - Returns: false when there are too many.
    private mutating func append() -> Bool {
        guard segments.count < maxCount else {
            isFull = true
            return false
        }
        segments.append(Segment(number: startNumber.addingSaturated(Int64(segments.count)), time: time))
        return true
    }
}
