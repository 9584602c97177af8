package import SpoolCore

/// An HLS playlist (rfc8216bis), as far as a cache has to understand it.
///
/// Only lines and attributes with URIs are read, and the tags that decide how long a stored
/// playlist serves. Everything else may contain anything, and need not be UTF-8. A line ends with a
/// line feed, a carriage return or both, as in players.
package struct HLSPlaylist {
    /// The references and rules of the playlist.
    package private(set) var contents = ManifestContents(.hlsMedia)
    /// The target duration in seconds, or nil for a playlist without one.
    package private(set) var targetDuration: Int64?
    /// Whether the server adds no segment any more.
    package private(set) var isEnded = false
    /// Whether the playlist is an update that lacks older segments (`EXT-X-SKIP`).
    package private(set) var isDelta = false

    private let bytes: [UInt8]
    private let base: ManifestBase
    private let limits: ManifestLimits
    private var variables: HLSVariables
    private var isVOD = false
    /// Whether the next line without `#` names a playlist.
    private var expectsPlaylist = false
    private var steering = HLSSteeringTag()

    /// Whether the bytes begin as a playlist does. The format forbids a byte order mark and blanks
    /// in front (§4), and players skip both.
    package static func isPlaylist(_ bytes: some RandomAccessCollection<UInt8>) -> Bool {
        let text = bytes.dropFirst(bytes.countBeforeText)
        guard text.begins(with: "#EXTM3U") else { return false }
        return text.dropFirst(7).first?.isXMLSpace ?? true
    }

    /// Whether the bytes begin as a plain list does: one URL a line, without `#EXTM3U`. Players read
    /// such a list by the extension of its URL.
    package static func isList(_ bytes: some RandomAccessCollection<UInt8>, at url: String) -> Bool {
        let text = bytes.dropFirst(bytes.countBeforeText).prefix(8)
        guard pathExtension(url: url) == "m3u", ![nil, .openBrace, UInt8(ascii: "<")].contains(text.first) else { return false }
        return text.allSatisfy { $0 >= .space || $0.isXMLSpace }
    }

    /// Whether a playlist has this text anywhere.
    package static func mentions(_ text: StaticString, _ bytes: [UInt8]) -> Bool {
        var start = 0
        while let index = bytes.firstIndex(of: text.utf8Start[0], from: start) {
            if bytes.begins(with: text, at: index) { return true }
            start = index + 1
        }
        return false
    }

    /// Reads a playlist.
    ///
    /// - Parameters:
    ///   - url: The URL of the playlist: the last one after redirects.
    ///   - variables: The variables of the multivariant playlist above.
    /// - Throws: `ParseError` for a playlist beyond the limits.
    package init(_ bytes: [UInt8], at url: String, variables: [String: String] = [:], limits: ManifestLimits = ManifestLimits())
        throws(ParseError)
    {
        self.bytes = bytes
        contents = ManifestContents(.hlsMedia, of: bytes)
        self.limits = limits
        base = try ManifestBase(url)
        self.variables = HLSVariables(imported: variables, query: base.url.query, limits: limits)
        try readLines()
        finish()
    }

    private mutating func readLines() throws(ParseError) {
        var start = bytes.countBeforeText, count = 0
        // A segment and its duration take more than 16 bytes.
        let maxReferences = min(limits.maxReferences, 4_096 + bytes.count / 16)
        while start < bytes.count {
            count += 1
            guard count <= limits.maxLines, contents.references.count <= maxReferences else {
                throw ParseError(offset: start, limit: "at most \(limits.maxLines) lines and \(maxReferences) references")
            }
            // Most references are examined once: they are plain up to the end of their line.
            let stop = bytes[start] == .hash ? start : bytes.endOfPlainText(from: start)
            let end = bytes.endOfLine(from: stop), isLong = end + 1 < bytes.count && bytes[end] == .carriageReturn
            let next = isLong && bytes[end + 1] == .lineFeed ? end + 2 : end + 1
            if start < stop, stop == end {
                contents.references.appendVerbatim(start..<end, base: base, role: takeRoleOfLine(), syntax: .line)
            } else if !bytes.begins(with: "#EXTINF:", at: start) {
                // Half of the lines of a long playlist say a duration.
                try read(line: bytes[start..<end].trimmed, span: start..<min(next, bytes.count))
            }
            start = next
        }
    }

    /// Reads one line, which has no blanks around it. `span` contains its line end.
    private mutating func read(line: ArraySlice<UInt8>, span: Range<Int>) throws(ParseError) {
        guard let first = line.first else { return }
        if first == .hash {
            if line.begins(with: "#EXT") { try read(tag: line.dropFirst(), span: span) }
            return
        }
        try add(line, takeRoleOfLine(), .line)
    }

    private mutating func takeRoleOfLine() -> ManifestReference.Role {
        defer { expectsPlaylist = false }
        return expectsPlaylist ? .playlist : .segment
    }

    private mutating func read(tag: ArraySlice<UInt8>, span: Range<Int>) throws(ParseError) {
        let colon = tag.firstIndex(of: .colon)
        let name = colon.map { tag[..<$0] } ?? tag.trimmed
        let value = colon.map { tag[($0 + 1)...] } ?? tag[tag.endIndex...]
        if HLSTag.isMultivariant(name) { contents.kind = .hlsMultivariant }
        if readMark(name, value) { return }
        guard name.begins(with: "EXT-X-") else { return }
        let attributes = HLSAttributes(value, maxCount: limits.maxAttributes)
        guard !attributes.isCut else {
            throw ParseError(offset: value.startIndex, limit: "at most \(limits.maxAttributes) attributes in a line")
        }
        if attributes["QUERYPARAM"] != nil || attributes["CAN-BLOCK-RELOAD"] != nil { contents.usesItsAddress = true }
        if name.equals("EXT-X-DEFINE") { return try variables.define(attributes, at: name.startIndex) }
        steering.take(name, attributes, span: span)
        let places = HLSTag.places(name, attributes)
        // In the order of the attributes, so that references are in the order of the document.
        for attribute in places.isEmpty ? [] : attributes.list {
            guard let place = places.first(where: { attribute.name.equals($0.attribute) }) else { continue }
            try add(attribute.value, place.role, attribute.isQuoted ? .plain : .unquoted)
        }
    }

    /// Reads a tag without references.
    private mutating func readMark(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Bool {
        if name.equals("EXT-X-STREAM-INF") {
            expectsPlaylist = true
            // Its attributes have no references, but steering needs them.
            return false
        }
        if name.equals("EXT-X-TARGETDURATION") {
            targetDuration = Int64(value.prefix { $0 != UInt8(ascii: ".") }.trimmed.text)
        } else if name.equals("EXT-X-MEDIA-SEQUENCE") {
            contents.mediaSequence = Int64(value.trimmed.text)
        } else if name.equals("EXT-X-ENDLIST") {
            isEnded = true
        } else if name.equals("EXT-X-PLAYLIST-TYPE") {
            isVOD = value.trimmed.equals("VOD")
        } else if name.equals("EXT-X-SKIP") {
            isDelta = true
        } else {
            return name.equals("EXT-X-BYTERANGE") || name.equals("EXT-X-PROGRAM-DATE-TIME")
        }
        return true
    }

    private mutating func add(_ value: ArraySlice<UInt8>, _ role: ManifestReference.Role, _ syntax: ManifestReference.Syntax)
        throws(ParseError)
    {
        guard !value.isEmpty else { return }
        let span = value.startIndex..<value.endIndex
        if bytes.endOfPlainText(from: span.lowerBound) >= span.upperBound {
            return contents.references.appendVerbatim(span, base: base, role: role, syntax: syntax)
        }
        // A player fails at a variable that is not defined, so there is nothing to resolve.
        guard let text = try variables.substituted(value) else { return }
        contents.references.append(ManifestReference(span: span, text: text, base: base, role: role, syntax: syntax))
    }

    /// Decides what follows from all lines together.
    private mutating func finish() {
        contents.variables = contents.kind == .hlsMultivariant ? variables.values : [:]
        if contents.kind == .hlsMultivariant {
            steering.remove(from: &contents)
        } else if !isEnded && !isVOD {
            contents.lifetime = .atMost(milliseconds: Self.liveMilliseconds(targetDuration ?? 1))
        }
    }

    /// Half a target duration, which is the longest time for which a live playlist serves
    /// (rfc8216bis appendix B.1). Longer target durations than an hour are errors.
    private static func liveMilliseconds(_ targetDuration: Int64) -> Int64 {
        min(max(targetDuration, 1), 3_600) * 500
    }
}
