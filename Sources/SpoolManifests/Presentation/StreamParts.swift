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
    package enum Kind: Hashable, Sendable {
        case video, audio, subtitles
        /// Pictures for seeking, and every other track that no selection takes.
        case other
    }

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
    /// The time in the presentation from which a player needs each of `parts`, in seconds.
    package var times: [Double] = []
    /// Whether `parts` has one media file, whose own index lists its segments (DASH).
    package var isOneFile = false
    /// The bytes of the manifest that offer this rendition.
    package var places: [Range<Int>] = []
    /// The bytes of the element that makes no sense without any of its renditions (DASH).
    package var container: Range<Int>?
    /// The bytes of the attribute that names the group of subtitles (HLS).
    package var subtitleAttribute: Range<Int>?

    package init(kind: Kind, group: String) {
        self.kind = kind
        self.group = group
    }

    /// The parts, each with the time from which a player needs it.
    package var timedParts: [(part: StreamPart, time: Double)] { zip(parts, times).map { ($0, $1) } }
}

/// The renditions that a manifest offers.
package struct StreamOutline: Hashable, Sendable {
    package var renditions: [StreamRendition] = []
    /// Parts that belong to every selection: keys and data of the session.
    package var sharedParts: [StreamPart] = []
    /// The variables that playlists below can import (HLS).
    package var variables: [String: String] = [:]
    /// The groups of sound with a rendition inside of the variants themselves (HLS).
    package var groupsInside: Set<String> = []
    /// Whether the manifest lists playlists and no segments (HLS).
    package var isMultivariant = false
    /// Whether the stream still grows, so that it cannot be complete.
    package var isLive = false

    package init() {}

    /// Reads the outline of a manifest.
    ///
    /// - Parameters:
    ///   - url: The URL of the manifest: the last one after redirects.
    ///   - variables: The variables of the manifest above (HLS).
    ///   - formats: The formats besides HLS.
    /// - Returns: nil when the bytes are not a manifest.
    /// - Throws: `ParseError` for a broken manifest, and for one beyond the limits.
    package static func read(
        _ bytes: [UInt8], at url: String, variables: [String: String] = [:], limits: ManifestLimits = ManifestLimits(),
        formats: [any ManifestFormat] = []
    ) throws(ParseError) -> StreamOutline? {
        guard bytes.count <= limits.maxBytes else {
            throw ParseError(offset: limits.maxBytes, expected: "a manifest of at most \(limits.maxBytes) bytes")
        }
        if HLSPlaylist.isPlaylist(bytes) { return try HLSOutline(bytes, at: url, variables: variables, limits: limits).outline }
        for format in formats {
            if let outline = try format.outline(of: bytes, at: url, limits: limits) { return outline }
        }
        return nil
    }
}
