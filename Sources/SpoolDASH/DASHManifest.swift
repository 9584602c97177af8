package import SpoolCore
package import SpoolManifests

/// The XML documents of MPEG-DASH (ISO/IEC 23009-1): media presentation descriptions, patches, and
/// the remote elements that `xlink:href` includes.
///
/// Only the spans of URLs are understood. Prefixes, quotes, comments, CDATA sections and the order
/// of attributes stay as they are. No element is inserted into a document with patches, because a
/// patch finds its places by counting elements.
package enum DASHManifest {
    /// Returns the references of a document that must change, or nil when the bytes are no such
    /// document.
    ///
    /// A relative reference that means the same below the proxy's path form is not in the result.
    ///
    /// - Parameter url: The URL of the document: the last one after redirects. For a patch or a
    ///   remote element it is the URL of the MPD, if that is known.
    /// - Throws: `ParseError` for XML that is not well-formed, and for a document beyond the
    ///   limits.
    package static func contents(
        of bytes: [UInt8], at url: String, limits: ManifestLimits = ManifestLimits()
    ) throws(ParseError) -> ManifestContents? {
        guard bytes.count <= limits.maxBytes else {
            throw ParseError(offset: limits.maxBytes, limit: "a manifest of at most \(limits.maxBytes) bytes")
        }
        guard let (document, kind) = try document(of: bytes, limits: limits) else { return nil }
        return try DASHReferences(document, kind, at: url, limits: limits).contents
    }

    /// Reads the tree of a document; nil when the bytes are not a document of DASH.
    static func document(
        of bytes: [UInt8], limits: ManifestLimits
    ) throws(ParseError) -> (document: XMLDocument, kind: ManifestKind)? {
        guard isReadableXML(bytes) else { return nil }
        var xml = XMLLimits()
        xml.maxDepth = limits.maxDepth
        xml.maxAttributes = limits.maxAttributes
        var scanner = XMLScanner(bytes, limits: xml)
        // A page or a feed is recognised by its first tag.
        guard (try? scanner.scanToFirstElement()) != nil, let kind = kind(of: scanner.document) else { return nil }
        try scanner.scanToEnd()
        return (scanner.document, kind)
    }

    /// Whether the bytes begin as XML does, in an encoding whose ASCII bytes mean ASCII.
    private static func isReadableXML(_ bytes: [UInt8]) -> Bool {
        bytes.dropFirst(bytes.countBeforeText).first == UInt8(ascii: "<") && XMLEncoding(of: bytes) != nil
    }

    private static func kind(of document: XMLDocument) -> ManifestKind? {
        guard document.isDASH(0) else { return nil }
        let name = document.name(0)
        if name == "MPD" { return .mpd }
        if name == "Patch" { return .mpdPatch }
        // Without a namespace, these names are too common.
        return document.elements[0].namespace == .dash || name == "Period" ? .xlinkFragment : nil
    }
}
