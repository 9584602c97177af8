import SpoolCore

/// The two manifests of HLS in JSON: the asset list of an interstitial (rfc8216bis appendix D.5),
/// and the steering manifest (§7.1).
struct JSONManifest {
    private(set) var contents: ManifestContents
    private let bytes: [UInt8]
    private let base: ManifestBase

    /// Reads a text.
    ///
    /// - Returns: Nil for other JSON, and for a text that is not JSON.
    /// - Throws: `ParseError` for a text beyond the limits.
    init?(_ bytes: [UInt8], at url: String, limits: ManifestLimits) throws(ParseError) {
        // Most JSON is neither. A search is cheaper than a walk.
        let isList = bytes.containsName("ASSETS"), isSteering = bytes.containsName("PATHWAY-PRIORITY")
        guard isList || isSteering else { return nil }
        let values: [JSONWalk.Value]
        do {
            values = try JSONWalk(bytes, limits: limits).values
        } catch {
            if error.isBeyondLimit { throw error }
            return nil
        }
        self.bytes = bytes
        base = try ManifestBase(url)
        if values.contains(where: { $0.place == .assets && $0.isContainer }) {
            contents = ManifestContents(.assetList, of: bytes)
            for value in values where value.place == .assetURI { add(value, .interstitialAsset) }
        } else if values.contains(where: { $0.place == .priority && $0.isContainer }) {
            contents = ManifestContents(.steering, of: bytes)
            addSteering(values)
        } else {
            return nil
        }
    }

    /// A clone by host name would name another proxy, so the clones of such a manifest are removed.
    /// Players ignore pathways that they do not know.
    private mutating func addSteering(_ values: [JSONWalk.Value]) {
        let hasHosts = values.contains { $0.place == .host }
        for value in values {
            if value.place == .reloadURI { add(value, .steering) }
            if value.place == .clonedURI, !hasHosts { add(value, .playlist) }
        }
        guard hasHosts else { return }
        for clones in values where clones.place == .clones { contents.edits.replace(clones.span, with: Array("[]".utf8)) }
    }

    private mutating func add(_ value: JSONWalk.Value, _ role: ManifestReference.Role) {
        guard !value.isContainer, !value.span.isEmpty else { return }
        let raw = bytes[value.span]
        guard raw.has(.backslash) else { return contents.references.appendVerbatim(value.span, base: base, role: role, syntax: .json) }
        contents.references.append(
            ManifestReference(span: value.span, text: raw.jsonUnescaped, base: base, role: role, syntax: .json))
    }
}

extension [UInt8] {
    /// Whether the bytes contain `"name"`.
    fileprivate func containsName(_ name: String) -> Bool {
        let wanted = Array("\"\(name)\"".utf8)
        var rest = self[...]
        while let quote = rest.firstIndex(of: .quote) {
            if self[quote...].starts(with: wanted) { return true }
            rest = self[(quote + 1)...]
        }
        return false
    }
}
