import SpoolCore

/// The two manifests of HLS in JSON: the asset list of an interstitial (rfc8216bis appendix D.5), and
/// the steering manifest (§7.1).
struct JSONManifest {
    private(set) var contents: ManifestContents
    private let base: ManifestBase

    /// Reads a text.
    ///
    /// - Returns: Nil for other JSON, and for a text that is not JSON.
    init?(_ bytes: [UInt8], at url: String, limits: ManifestLimits) throws(ParseError) {
        // Most JSON is neither. A search is cheaper than a walk.
        let isList = bytes.containsName("ASSETS"), isSteering = bytes.containsName("PATHWAY-PRIORITY")
        guard isList || isSteering else { return nil }
        let values: [JSONWalk.Value]
        do { values = try JSONWalk(bytes, limits: limits).values } catch { return nil }
        base = try ManifestBase(url)
        if values.contains(where: { $0.path == ["ASSETS"] && $0.text == nil }) {
            contents = ManifestContents(.assetList)
            for value in values where value.path == ["ASSETS", "[]", "URI"] { add(value, .interstitialAsset) }
        } else if values.contains(where: { $0.path == ["PATHWAY-PRIORITY"] && $0.text == nil }) {
            contents = ManifestContents(.steering)
            addSteering(values)
        } else {
            return nil
        }
    }

    /// A clone by host name would name another proxy, so the clones of such a manifest are removed.
    /// Players ignore pathways that they do not know.
    private mutating func addSteering(_ values: [JSONWalk.Value]) {
        let replacement = ["PATHWAY-CLONES", "[]", "URI-REPLACEMENT"]
        let hasHosts = values.contains { $0.path == replacement + ["HOST"] }
        for value in values {
            if value.path == ["RELOAD-URI"] { add(value, .steering) }
            guard value.path.count == 5, value.path.starts(with: replacement), !hasHosts else { continue }
            if value.path[3] == "PER-VARIANT-URIS" || value.path[3] == "PER-RENDITION-URIS" { add(value, .playlist) }
        }
        if hasHosts, let clones = values.first(where: { $0.path == ["PATHWAY-CLONES"] }) {
            contents.edits.replace(clones.span, with: Array("[]".utf8))
        }
    }

    private mutating func add(_ value: JSONWalk.Value, _ role: ManifestReference.Role) {
        guard let text = value.text, !text.isEmpty else { return }
        contents.references.append(ManifestReference(span: value.span, text: text, base: base, role: role, syntax: .json))
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
