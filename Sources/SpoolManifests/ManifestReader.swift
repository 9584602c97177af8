package import SpoolCore

/// Reads manifests, and writes them with other references. A pure function of the bytes, their URL
/// and the variables of the parent.
package struct ManifestReader: Sendable {
    package var limits: ManifestLimits
    /// The formats that the reader knows besides HLS.
    package let formats: [any ManifestFormat]

    /// Creates a reader.
    package init(limits: ManifestLimits = ManifestLimits(), formats: [any ManifestFormat] = []) {
        self.limits = limits
        self.formats = formats
    }

    /// Returns the parts of a manifest that matter, or nil when the bytes are not a manifest.
    ///
    /// - Parameters:
    ///   - bytes: The whole document.
    ///   - url: The URL of the document: the last one after redirects.
    ///   - variables: The variables of the parent, for `EXT-X-DEFINE` with `IMPORT`.
    /// - Throws: `ParseError` for a manifest beyond the limits, and for one that a player must not
    ///   use. Such a document is passed on as it is.
    package func contents(
        of bytes: [UInt8], at url: String, variables: [String: String] = [:]
    ) throws(ParseError) -> ManifestContents? {
        guard bytes.count <= limits.maxBytes else {
            throw ParseError(offset: limits.maxBytes, limit: "a manifest of at most \(limits.maxBytes) bytes")
        }
        if HLSPlaylist.isPlaylist(bytes) || HLSPlaylist.isList(bytes, at: url) {
            return try HLSPlaylist(bytes, at: url, variables: variables, limits: limits).contents
        }
        if bytes.first == .openBrace { return try JSONManifest(bytes, at: url, limits: limits)?.contents }
        for format in formats {
            if let contents = try format.contents(of: bytes, at: url, limits: limits) { return contents }
        }
        return nil
    }

    /// Whether a document with these first bytes may be a manifest. Eight bytes suffice for a
    /// decision, and fewer at the end of a shorter document.
    ///
    /// - Parameters:
    ///   - url: The URL of the document, if it may be a list without a first line of its own.
    ///   - isUnlikely: Whether the type is that of other content, so that XML and JSON do not count
    ///     unless they begin as an MPD does, which a comment may precede.
    ///   - isCoded: Whether the response names a content coding, so that the bytes may be gzip.
    package static func mayBegin(
        _ bytes: some RandomAccessCollection<UInt8>, at url: String = "", isUnlikely: Bool = false, isCoded: Bool = false
    ) -> Bool {
        if isCoded, Gzip.begins(bytes) { return true }
        let text = bytes.dropFirst(bytes.countBeforeText)
        guard let first = text.first else { return true }
        if text.agrees(with: "#EXTM3U") || HLSPlaylist.isList(bytes, at: url) { return true }
        if isUnlikely { return ["<?xml", "<MPD", "<!--"].contains { text.agrees(with: $0) } }
        return first == .openBrace || first == UInt8(ascii: "<")
    }

    /// Returns the manifest with other references.
    ///
    /// - Parameters:
    ///   - verbatim: Returns the change to a reference whose text is in the document as it is.
    ///   - replacement: Returns the new text of a reference, without escapes, or nil to keep the
    ///     bytes as they are.
    /// - Throws: `ParseError` when the contents are not those of `bytes`, as `ManifestEdits` does,
    ///   and when the new text is beyond the limits.
    package func rewritten(
        _ bytes: [UInt8], _ contents: ManifestContents,
        verbatim: (ManifestReferences.Verbatim) -> VerbatimChange = { _ in .byText },
        replacement: (ManifestReference) -> String?
    ) throws(ParseError) -> [UInt8] {
        var edits = contents.edits
        var resolvableBytes = limits.maxResolvedBytes
        edits.reserve(contents.references.count)
        contents.references.forEach(
            verbatim: { reference in
                switch verbatim(reference) {
                case .none: break
                case .beginning(let length, let text):
                    let start = contents.references.span(at: reference.index).lowerBound
                    edits.replace(start..<start + length, with: text)
                case .byText: return false
                }
                return true
            },
            other: { reference in
                resolvableBytes -= reference.base.url.path.utf8.count + ManifestLimits.bytesOfReference
                guard resolvableBytes >= 0, edits.addedBytes <= limits.addedBytes(bytes.count) else { return false }
                guard let text = replacement(reference), let written = reference.syntax.written(text) else { return true }
                edits.replace(reference.span, with: written)
                return true
            })
        guard resolvableBytes >= 0 else {
            throw ParseError(offset: 0, limit: limits.resolvedBytesLimit)
        }
        guard edits.addedBytes <= limits.addedBytes(bytes.count) else {
            throw ParseError(offset: 0, limit: "references that become longer by at most \(limits.addedBytes(bytes.count)) bytes")
        }
        return edits.isEmpty ? bytes : try edits.applied(to: bytes)
    }
}

extension ManifestReference.Syntax {
    /// Returns the bytes that mean `text` in this syntax, or nil when it cannot contain the text.
    package func written(_ text: String) -> [UInt8]? {
        switch self {
        case .line: return Array(text.replacingVariables.utf8)
        case .plain:
            // A quote would end the string, and a brace with a dollar would be a variable.
            return text.utf8.contains(UInt8(ascii: "\"")) ? nil : Array(text.replacingVariables.utf8)
        case .unquoted:
            return text.utf8.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: ",") } ? nil : Array(text.replacingVariables.utf8)
        case .xml:
            let text = text.utf8.percentEncoded { $0 > 0x7F }
            return text.utf8.flatMap { Self.xmlEscapes[$0].map { Array($0.utf8) } ?? [$0] }
        case .cdata:
            // The end of the section must not be inside of it.
            return Array(text.utf8.percentEncoded { $0 > 0x7F || $0 == UInt8(ascii: ">") }.utf8)
        case .json:
            return text.utf8.flatMap { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") ? [UInt8(ascii: "\\"), $0] : [$0] }
        }
    }

    private static let xmlEscapes: [UInt8: String] = [
        UInt8(ascii: "&"): "&amp;", UInt8(ascii: "<"): "&lt;", UInt8(ascii: ">"): "&gt;", UInt8(ascii: "\""): "&quot;",
        UInt8(ascii: "'"): "&apos;",
    ]
}

extension String {
    /// The text with `{$` as `%7B$`, so that a player finds no variable in it.
    fileprivate var replacingVariables: String {
        guard utf8.contains(UInt8(ascii: "{")) else { return self }
        var bytes: [UInt8] = []
        var previous: UInt8 = 0
        for byte in utf8 {
            if byte == UInt8(ascii: "$"), previous == UInt8(ascii: "{") {
                bytes.removeLast()
                bytes += Array("%7B".utf8)
            }
            bytes.append(byte)
            previous = byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
