import SpoolCore

/// How a browser treats content of a media type when a person or a page opens its URL.
enum BrowserContent: Hashable, Sendable {
    /// The browser itself shows or plays it: raster images, sound, video, plain playlists,
    /// subtitles, fonts.
    case inactive
    /// The browser runs it or renders it with scripts, styles or parts: HTML, every XML format
    /// (such as SVG and MPD), PDF, containers of messages.
    case active
    /// All other content, and content without a type. Browsers download most of it. Some look at
    /// the bytes and may find HTML.
    case unknown

    /// Classifies the content of a response with these fields. Of several types, browsers use the
    /// last and players the first, so the most dangerous one counts.
    init(_ fields: HTTPFields) {
        // A comma separates types that intermediaries joined (Fetch, "extract a MIME type").
        let types = fields.values(of: .contentType).flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let kinds = types.map { Self.kind(of: MediaType(String($0))) }
        if kinds.contains(.active) {
            self = .active
        } else {
            self = !kinds.isEmpty && kinds.allSatisfy { $0 == .inactive } ? .inactive : .unknown
        }
    }

    private static func kind(of type: MediaType?) -> BrowserContent {
        guard let type else { return .unknown }
        if isActive(type) { return .active }
        if ["image", "audio", "video", "font"].contains(type.type) || inactiveTypes.contains(type.essence) { return .inactive }
        return .unknown
    }

    private static func isActive(_ type: MediaType) -> Bool {
        type.subtype.hasSuffix("+xml") || type.subtype == "xml" || type.essence == "image/svg"
            || ["multipart", "message"].contains(type.type)
            || activeTypes.contains(type.essence)
    }

    private static let activeTypes: Set<String> = [
        "text/html", "text/xsl", "application/xslt", "application/pdf", "text/pdf", "application/x-shockwave-flash",
    ]

    private static let inactiveTypes: Set<String> = [
        "application/vnd.apple.mpegurl", "application/x-mpegurl", "application/ogg", "application/mp4", "text/vtt",
    ]
}

/// The use for which a browser requests a resource, by `Sec-Fetch-Dest` (Fetch Metadata). Programs
/// other than browsers do not send the field.
enum BrowserDestination: Hashable, Sendable {
    /// A document of its own or inside a page. Its effect depends on its type.
    case document
    /// Code, or content that makes a browser run or register code, whatever its type.
    case code
    /// Media, bytes for a script, or a download.
    case other

    init(_ value: String?) {
        switch value {
        case nil: self = .other
        case "document"?, "iframe"?, "frame"?, "embed"?, "object"?, "fencedframe"?: self = .document
        case "script"?, "style"?, "worker"?, "sharedworker"?, "serviceworker"?, "audioworklet"?, "paintworklet"?, "xslt"?, "manifest"?,
            "webidentity"?, "speculationrules"?:
            self = .code
        case .some: self = .other
        }
    }
}
