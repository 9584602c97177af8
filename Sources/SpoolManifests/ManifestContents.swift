/// The parts of a manifest that matter to a cache. Every other byte has no meaning here.
package struct ManifestContents: Hashable, Sendable {
    package var kind: ManifestKind
    /// The references in the order of the document.
    package var references = ManifestReferences()
    /// Replacements that do not depend on a reference: a removed steering tag, for example.
    package var edits = ManifestEdits()
    /// The variables that manifests below this one can import (HLS).
    package var variables: [String: String] = [:]
    /// The rules for storing this manifest.
    package var lifetime = ManifestLifetime.byHTTP
    /// The number of the first segment of a media playlist, or nil where none is stated.
    package var mediaSequence: Int64?
    /// Whether players read the query of the document's URL, or add to it to block a reload (HLS).
    package var usesItsAddress = false
    /// The place where a document of DASH states the base of its references.
    package var base = Base.address

    /// Creates contents without references.
    package init(_ kind: ManifestKind) {
        self.kind = kind
    }

    /// Creates contents without references, whose references may be verbatim ones of a document.
    init(_ kind: ManifestKind, of document: [UInt8]) {
        self.kind = kind
        references = ManifestReferences(of: document)
    }
}

extension ManifestContents {
    /// The base of the references that stay relative.
    package enum Base: Hashable, Sendable {
        /// The address of the document.
        case address
        /// The document states one, which is a reference of `references`.
        case stated
        /// The document states none. Elements with this prefix may state one at these offsets, in
        /// ascending order.
        case insertable(offsets: [Int], prefix: String)
    }
}

/// The time for which a stored manifest serves without a question to its origin.
package enum ManifestLifetime: Hashable, Sendable {
    /// The rules of HTTP caching apply alone.
    case byHTTP
    /// At most this many milliseconds, and less when the rules of HTTP caching say so.
    case atMost(milliseconds: Int64)
}
