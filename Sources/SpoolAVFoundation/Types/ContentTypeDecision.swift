import SpoolCore

/// The content type for the player.
///
/// The app's hint has precedence, then a MIME type that names a kind. When the server's type is
/// vague (`application/octet-stream`, `text/plain`, none), the first bytes decide, then the
/// extension. When the server's type is HTML, only the bytes can override it.
package enum ContentTypeDecision: Hashable, Sendable {
    /// Give the player this type identifier.
    case identifier(String)
    /// The type is unknown. The player detects it from the bytes and the URL.
    case undecided
    /// A playlist, which the loader cannot serve.
    case playlist
    /// Read the first bytes, then decide again.
    case needsBytes
    /// The resource is not media.
    case notMedia(String)
    /// The resource is in a container that the system does not open.
    case unsupported(MediaKind)

    /// The known facts about a resource.
    package struct Evidence {
        /// The app's hint: a MIME type or an identifier.
        package var hint: String?
        /// The origin's `Content-Type`.
        package var contentType: String?
        /// The extension of the URL's path, in lower case.
        package var fileExtension: String?
        /// The first bytes, once they were read. Empty when they are unavailable.
        package var firstBytes: [UInt8]?
        /// Returns the platform's identifier of a MIME type, for types beyond the table.
        package var identifierOfMediaType: @Sendable (String) -> String? = { _ in nil }
        /// Returns whether the system opens media with this identifier.
        package var isOpenable: (String) -> Bool = { _ in true }

        /// Creates the facts about a resource.
        package init(hint: String? = nil, contentType: String? = nil, fileExtension: String? = nil, firstBytes: [UInt8]? = nil) {
            self.hint = hint
            self.contentType = contentType
            self.fileExtension = fileExtension
            self.firstBytes = firstBytes
        }
    }

    /// Decides on the content type from the facts.
    package init(_ evidence: Evidence) {
        if let hint = evidence.hint {
            self = Self.hinted(hint, evidence)
            return
        }
        let essence = Self.essence(evidence.contentType)
        if let essence, !Self.vagueTypes.contains(essence), let kind = MediaKind.ofMediaType(essence) {
            self = kind.isDoubtful ? Self.doubtful(kind, evidence) : Self.kind(kind)
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

    /// A kind that not each system opens. The bytes decide, because servers send such a type for
    /// other media as well.
    private static func doubtful(_ kind: MediaKind, _ evidence: Evidence) -> Self {
        guard let bytes = evidence.firstBytes else { return .needsBytes }
        switch ContentSniffer.look(at: bytes) {
        case .media(let found): return openable(found == .webm && kind == .matroska ? kind : found, evidence)
        case .markup: return .notMedia(kind.mediaTypes.first ?? kind.identifier)
        case .unknown: return openable(kind, evidence)
        }
    }

    private static func openable(_ kind: MediaKind, _ evidence: Evidence) -> Self {
        kind.isDoubtful && !evidence.isOpenable(kind.identifier) ? .unsupported(kind) : Self.kind(kind)
    }

    private static func byBytes(_ evidence: Evidence, _ essence: String?) -> Self {
        guard let bytes = evidence.firstBytes else { return .needsBytes }
        switch ContentSniffer.look(at: bytes) {
        case .media(let kind): return openable(kind, evidence)
        case .markup: return .notMedia(essence ?? "text")
        case .unknown:
            if let essence, pageTypes.contains(essence) { return .notMedia(essence) }
            return evidence.fileExtension.flatMap(MediaKind.ofFileExtension).map { openable($0, evidence) } ?? .undecided
        }
    }

    private static func kind(_ kind: MediaKind) -> Self {
        kind.isPlaylist ? .playlist : .identifier(kind.identifier)
    }

    /// Returns type and subtype in lower case without parameters, also when the parameters are
    /// malformed (`video/mp4;UTF-8`).
    private static func essence(_ contentType: String?) -> String? {
        guard let contentType else { return nil }
        if let type = MediaType(contentType) { return type.essence }
        let head = contentType.prefix { $0 != ";" && $0 != "," }.filter { $0 != " " }
        return head.isEmpty ? nil : String(head).asciiLowercased
    }

    /// The types that servers send when they do not have a better one.
    private static let vagueTypes: Set<String> = [
        "application/octet-stream", "binary/octet-stream", "application/x-octet-stream", "application/unknown", "text/plain", "text/html",
        "application/xhtml+xml", "application/json", "application/xml", "text/xml", "application/force-download", "application/download",
    ]

    /// The types of pages, unless the bytes show media.
    private static let pageTypes: Set<String> = [
        "text/html", "application/xhtml+xml", "application/json", "application/xml", "text/xml",
    ]
}
