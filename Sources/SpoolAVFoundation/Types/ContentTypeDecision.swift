import SpoolCore

/// What the player is told that a resource is.
///
/// The app's hint wins. Else a MIME type that names a kind; where the server is vague (`application/octet-stream`, `text/plain`, nothing)
/// the first bytes, then the extension. A server that says HTML has to be contradicted by the bytes.
package enum ContentTypeDecision: Hashable, Sendable {
    /// Tell this identifier.
    case identifier(String)
    /// Nobody knows; the player finds out by itself from the bytes and the URL.
    case undecided
    /// A playlist, which the loader can't serve.
    case playlist
    /// Look at the first bytes, then ask again.
    case needsBytes
    /// This is no media.
    case notMedia(String)

    /// What is known of a resource.
    package struct Evidence: Sendable {
        /// The app's own word: a MIME type or an identifier.
        package var hint: String?
        /// `Content-Type` as the origin gave it.
        package var contentType: String?
        /// The extension of the URL's path, in lower case.
        package var fileExtension: String?
        /// The first bytes, once they were read; empty when they can't be had.
        package var firstBytes: [UInt8]?
        /// What the platform knows beyond the table: the identifier of a MIME type.
        package var identifierOfMediaType: @Sendable (String) -> String? = { _ in nil }

        package init(hint: String? = nil, contentType: String? = nil, fileExtension: String? = nil, firstBytes: [UInt8]? = nil) {
            self.hint = hint
            self.contentType = contentType
            self.fileExtension = fileExtension
            self.firstBytes = firstBytes
        }
    }

    package init(_ evidence: Evidence) {
        if let hint = evidence.hint {
            self = Self.hinted(hint, evidence)
            return
        }
        let essence = Self.essence(evidence.contentType)
        if let essence, !Self.vagueTypes.contains(essence), let kind = MediaKind.ofMediaType(essence) {
            self = Self.kind(kind)
        } else if let essence, !Self.vagueTypes.contains(essence), let known = evidence.identifierOfMediaType(essence) {
            self = .identifier(known)
        } else {
            self = Self.byBytes(evidence, essence)
        }
    }

    private static func hinted(_ hint: String, _ evidence: Evidence) -> Self {
        guard hint.contains("/") else { return MediaKind.ofIdentifier(hint).map(kind) ?? .identifier(hint) }
        let essence = essence(hint) ?? hint
        return MediaKind.ofMediaType(essence).map(kind) ?? evidence.identifierOfMediaType(essence).map { .identifier($0) } ?? .undecided
    }

    private static func byBytes(_ evidence: Evidence, _ essence: String?) -> Self {
        guard let bytes = evidence.firstBytes else { return .needsBytes }
        switch ContentSniffer.look(at: bytes) {
        case .media(let kind): return Self.kind(kind)
        case .markup: return .notMedia(essence ?? "text")
        case .unknown:
            if let essence, pageTypes.contains(essence) { return .notMedia(essence) }
            return evidence.fileExtension.flatMap(MediaKind.ofFileExtension).map(kind) ?? .undecided
        }
    }

    private static func kind(_ kind: MediaKind) -> Self {
        kind.isPlaylist ? .playlist : .identifier(kind.identifier)
    }

    /// Type and subtype in lower case, without parameters, also where those are malformed (`video/mp4;UTF-8`).
    private static func essence(_ contentType: String?) -> String? {
        guard let contentType else { return nil }
        if let type = MediaType(contentType) { return type.essence }
        let head = contentType.prefix { $0 != ";" && $0 != "," }.filter { $0 != " " }
        return head.isEmpty ? nil : String(head).asciiLowercased
    }

    /// What servers say when they don't know.
    private static let vagueTypes: Set<String> = [
        "application/octet-stream", "binary/octet-stream", "application/x-octet-stream", "application/unknown", "text/plain", "text/html",
        "application/xhtml+xml", "application/json", "application/xml", "text/xml", "application/force-download", "application/download",
    ]

    /// What is a page unless its bytes say otherwise.
    private static let pageTypes: Set<String> = [
        "text/html", "application/xhtml+xml", "application/json", "application/xml", "text/xml",
    ]
}
