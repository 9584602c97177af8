/// One place of a manifest that names a resource.
package struct ManifestReference: Hashable, Sendable {
    /// The purpose of the named resource.
    package enum Role: Hashable, Sendable, CaseIterable {
        /// A playlist or a media presentation description.
        case playlist
        case segment
        /// A part of a segment (HLS).
        case part
        /// A resource that a server announces before it exists (HLS).
        case hint
        /// An initialisation section.
        case map
        /// An index of segments (DASH).
        case index
        case key
        case sessionData
        case steering
        /// The playlist of an interstitial, which must be an absolute URL.
        case interstitialAsset
        /// The list of assets of an interstitial.
        case assetList
        /// The report about another rendition, which must be a relative reference (HLS).
        case renditionReport
        /// The base of other references (DASH).
        case base
        /// A patch of the same manifest (DASH).
        case patch
        /// A fragment of the same manifest (DASH `xlink:href`).
        case fragment
    }

    /// The syntax around a reference, which decides how new text is written.
    package enum Syntax: Hashable, Sendable {
        /// A line of a playlist.
        case line
        /// The inside of a quoted string of a playlist.
        case plain
        /// A value of a playlist without quotes.
        case unquoted
        /// Text or an attribute value of XML, where `&`, `<` and quotes are escaped. Bytes outside
        /// ASCII are percent-encoded, because the document may have another encoding.
        case xml
        /// The inside of a CDATA section of XML.
        case cdata
        /// The inside of a JSON string.
        case json
    }

    /// The bytes of the reference in the manifest, without the quotes or tags around it.
    package var span: Range<Int>
    /// The text that a player resolves: the bytes of `span` without escapes, and with variables
    /// replaced.
    package var text: String
    /// The base that the text is resolved against.
    package var base: ManifestBase
    package var role: Role
    package var syntax: Syntax

    /// Creates a reference.
    package init(span: Range<Int>, text: String, base: ManifestBase, role: Role, syntax: Syntax) {
        self.span = span
        self.text = text
        self.base = base
        self.role = role
        self.syntax = syntax
    }

    /// The absolute URL that the reference means, or nil when the text is not a URI reference.
    package var url: String? { base.resolved(text) }
}

/// The change to a reference that is in the document as a player resolves it.
package enum VerbatimChange: Hashable, Sendable {
    /// The reference stays as it is.
    case none
    /// The first `length` bytes become other bytes, which need no escapes.
    case beginning(length: Int, text: [UInt8])
    /// The reference is judged by its text, as all others are.
    case byText
}
