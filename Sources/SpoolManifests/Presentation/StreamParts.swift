package import SpoolCore

/// A resource, or a range of one, that a presentation consists of.
package struct StreamPart: Hashable, Sendable {
    package var url: String
    /// The bytes of the resource that belong to the presentation; nil for all.
    package var range: ByteRange?

    package init(url: String, range: ByteRange? = nil) {
        self.url = url
        self.range = range
    }
}

/// A rendition of a presentation: one quality of the video, one language of the sound or of the
/// subtitles.
package struct StreamRendition: Hashable, Sendable {
    package enum Kind: Hashable, Sendable { case video, audio, subtitles }

    package var kind: Kind
    /// The name by which variants refer to a group of renditions (HLS), or the identifier of the
    /// period (DASH).
    package var group: String
    /// Bits a second; 0 when it is not given.
    package var bandwidth: Int64 = 0
    /// The height of the picture in pixels; 0 without one.
    package var height: Int64 = 0
    /// The language as a tag of RFC 5646; empty when it is not given.
    package var language = ""
    /// Whether a player takes this rendition without a choice of its user.
    package var isDefault = false
    /// The groups of sound and subtitles that a variant needs (HLS).
    package var audioGroup: String?
    package var subtitleGroup: String?
    /// The playlist that lists the parts (HLS); nil when `parts` has them.
    package var playlist: String?
    package var parts: [StreamPart] = []

    package init(kind: Kind, group: String) {
        self.kind = kind
        self.group = group
    }
}

/// The renditions that a manifest offers.
package struct StreamOutline: Hashable, Sendable {
    package var renditions: [StreamRendition] = []
    /// Parts that belong to every selection: keys and data of the session.
    package var sharedParts: [StreamPart] = []
    /// The variables that playlists below can import (HLS).
    package var variables: [String: String] = [:]
    /// Whether the stream still grows, so that it cannot be complete.
    package var isLive = false

    package init() {}

    /// Reads the outline of a manifest.
    ///
    /// - Parameters:
    ///   - url: The URL of the manifest: the last one after redirects.
    ///   - variables: The variables of the manifest above (HLS).
    /// - Returns: nil when the bytes are no manifest.
    /// - Throws: `ParseError` for a broken manifest, and for one beyond the limits.
    package static func read(
        _ bytes: [UInt8], at url: String, variables: [String: String] = [:], limits: ManifestLimits = ManifestLimits()
    ) throws(ParseError) -> StreamOutline? {
        guard bytes.count <= limits.maxBytes else {
            throw ParseError(offset: limits.maxBytes, expected: "a manifest of at most \(limits.maxBytes) bytes")
        }
        if HLSPlaylist.isPlaylist(bytes) { return try HLSOutline(bytes, at: url, variables: variables, limits: limits).outline }
        guard let (document, kind) = try DASHManifest.document(of: bytes, limits: limits), kind == .mpd else { return nil }
        return try DASHOutline(document, at: url, limits: limits).outline
    }
}

// MARK: - Selecting

/// The renditions of a presentation that a download takes.
package struct StreamSelection: Hashable, Sendable {
    package enum Quality: Hashable, Sendable {
        case best
        case worst
        /// The best variant that is not higher than this, in pixels.
        case height(Int64)
        /// The best variant that needs no more than this, in bits a second.
        case bandwidth(Int64)
    }

    package enum Languages: Hashable, Sendable {
        /// The renditions that a player takes by itself.
        case standard
        case none
        case all
        case only(String)
    }

    package var quality = Quality.best
    package var audio = Languages.standard
    package var subtitles = Languages.none

    package init() {}

    /// The selected renditions of an outline, in its order.
    ///
    /// A period of DASH is selected by itself, because renditions change between periods.
    package func renditions(of outline: StreamOutline) -> [StreamRendition] {
        let periods = outline.periods
        return periods.isEmpty ? selectedHLS(outline.renditions) : periods.flatMap { selectedDASH($0) }
    }

    private func selectedHLS(_ all: [StreamRendition]) -> [StreamRendition] {
        guard let variant = best(of: all.filter { $0.kind == .video }) else { return [] }
        let sound = all.filter { $0.kind == .audio && $0.group == variant.audioGroup }
        let texts = all.filter { $0.kind == .subtitles && $0.group == variant.subtitleGroup }
        return [variant] + Self.select(audio, of: sound) + Self.select(subtitles, of: texts)
    }

    private func selectedDASH(_ period: [StreamRendition]) -> [StreamRendition] {
        let video = best(of: period.filter { $0.kind == .video }).map { [$0] } ?? []
        // Of one language, the best sound is taken.
        let sound = Self.select(audio, of: Self.bestOfEachLanguage(period.filter { $0.kind == .audio }))
        let texts = Self.select(subtitles, of: Self.bestOfEachLanguage(period.filter { $0.kind == .subtitles }))
        return video + sound + texts
    }

    private func best(of variants: [StreamRendition]) -> StreamRendition? {
        let lowest = variants.min { $0.bandwidth < $1.bandwidth }
        func highest(_ isAllowed: (StreamRendition) -> Bool) -> StreamRendition? {
            variants.filter(isAllowed).max { ($0.height, $0.bandwidth) < ($1.height, $1.bandwidth) } ?? lowest
        }
        switch quality {
        case .best: return highest { _ in true }
        case .worst: return lowest
        case .height(let height): return highest { $0.height <= height }
        case .bandwidth(let bandwidth): return variants.filter { $0.bandwidth <= bandwidth }.max { $0.bandwidth < $1.bandwidth } ?? lowest
        }
    }

    private static func bestOfEachLanguage(_ all: [StreamRendition]) -> [StreamRendition] {
        var result: [StreamRendition] = []
        for rendition in all {
            guard let index = result.firstIndex(where: { $0.language == rendition.language }) else {
                result.append(rendition)
                continue
            }
            if result[index].bandwidth < rendition.bandwidth { result[index] = rendition }
        }
        return result
    }

    private static func select(_ languages: Languages, of all: [StreamRendition]) -> [StreamRendition] {
        switch languages {
        case .none: []
        case .all: all
        case .standard: all.first { $0.isDefault }.map { [$0] } ?? Array(all.prefix(1))
        case .only(let tag): all.filter { $0.language.matches(tag) }
        }
    }
}

extension StreamOutline {
    /// The renditions of each period of DASH; empty for HLS.
    fileprivate var periods: [[StreamRendition]] {
        var result: [[StreamRendition]] = []
        for rendition in renditions where rendition.playlist == nil && !rendition.parts.isEmpty {
            if result.last?.first?.group == rendition.group {
                result[result.count - 1].append(rendition)
            } else {
                result.append([rendition])
            }
        }
        return result
    }
}

extension String {
    /// Whether this tag is `range`, or begins with it (RFC 4647 §3.3.1).
    fileprivate func matches(_ range: String) -> Bool {
        let (tag, range) = (asciiLowercased, range.asciiLowercased)
        return tag == range || tag.hasPrefix(range + "-")
    }
}
