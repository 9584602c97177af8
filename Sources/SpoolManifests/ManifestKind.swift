import SpoolCore

/// The kinds of documents that name the parts of a presentation.
///
/// The bytes of a document decide, because servers send wrong types and URLs without extension.
/// Type and URL only limit the search, so that media and web pages are not searched.
package enum ManifestKind: Hashable, Sendable, CaseIterable {
    /// An HLS multivariant playlist, which lists playlists.
    case hlsMultivariant
    /// An HLS media playlist, which lists segments.
    case hlsMedia
    /// The list of assets of an HLS interstitial, in JSON.
    case assetList
    /// The content steering manifest of HLS or DASH, in JSON.
    case steering
    /// A DASH media presentation description.
    case mpd
    /// A patch for a DASH media presentation description.
    case mpdPatch
    /// A fragment that a DASH media presentation description includes by `xlink:href`.
    case xlinkFragment

    /// The media type of a document that names parts of a presentation.
    package var mediaType: String { isHLS ? "application/vnd.apple.mpegurl" : "application/dash+xml" }

    /// Whether the document belongs to HLS.
    package var isHLS: Bool {
        switch self {
        case .hlsMultivariant, .hlsMedia, .assetList, .steering: true
        case .mpd, .mpdPatch, .xlinkFragment: false
        }
    }
}

/// The suspicion that a response is a manifest, from its type and its URL.
package enum ManifestSuspicion: Hashable, Sendable {
    /// The type or the extension is that of a manifest.
    case named
    /// The type is used for manifests, and for other content: JSON, XML, text, bytes, none.
    case possible
    /// The type is that of other content, and the URL has no extension of media. Scripts send
    /// playlists with the type of a page or of media. Only an unmistakable beginning counts.
    case unlikely
    /// The response is not a manifest.
    case none

    /// Judges a response.
    ///
    /// - Parameters:
    ///   - contentType: The value of `Content-Type`, or nil.
    ///   - url: The URL of the response.
    package init(contentType: String?, url: String) {
        let ofURL = pathExtension(url: url)
        let essence = contentType.flatMap(MediaType.init)?.essence
        if Self.manifestTypes.contains(essence ?? "") || Self.manifestExtensions.contains(ofURL) {
            self = .named
        } else if MediaKind.isMediaExtension(ofURL) {
            self = .none
        } else {
            self = vagueMediaTypes.contains(essence ?? "") ? .possible : .unlikely
        }
    }

    private static let manifestExtensions: Set<String> = ["m3u8", "m3u", "mpd", "mpp"]
    private static let manifestTypes = Set(MediaKind.hls.mediaTypes).union([
        "vnd.apple/mpegurl", "application/dash+xml", "application/dash-patch+xml",
    ])
}
