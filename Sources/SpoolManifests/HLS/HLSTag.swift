/// The tags that contain references, and the attributes in which they are.
enum HLSTag {
    /// An attribute that is a reference.
    struct Place {
        var attribute: StaticString
        var role: ManifestReference.Role
    }

    /// Returns the places of a tag. `name` has no leading `#` and no colon.
    static func places(_ name: ArraySlice<UInt8>, _ attributes: HLSAttributes) -> [Place] {
        if name.equals("EXT-X-DATERANGE") { return placesOfDateRange(attributes) }
        return uris.first { name.equals($0.tag) }.map { [$0.place] } ?? []
    }

    private static let uris: [(tag: StaticString, place: Place)] = [
        ("EXT-X-PART", Place(attribute: "URI", role: .part)),
        ("EXT-X-KEY", Place(attribute: "URI", role: .key)),
        ("EXT-X-MAP", Place(attribute: "URI", role: .map)),
        ("EXT-X-PRELOAD-HINT", Place(attribute: "URI", role: .hint)),
        ("EXT-X-RENDITION-REPORT", Place(attribute: "URI", role: .renditionReport)),
        ("EXT-X-MEDIA", Place(attribute: "URI", role: .playlist)),
        ("EXT-X-I-FRAME-STREAM-INF", Place(attribute: "URI", role: .playlist)),
        ("EXT-X-IMAGE-STREAM-INF", Place(attribute: "URI", role: .playlist)),
        ("EXT-X-SESSION-KEY", Place(attribute: "URI", role: .key)),
        ("EXT-X-SESSION-DATA", Place(attribute: "URI", role: .sessionData)),
        ("EXT-X-CONTENT-STEERING", Place(attribute: "SERVER-URI", role: .steering)),
    ]

    /// The attributes of a date range belong to its class. Those of other classes have unknown
    /// meanings and stay.
    private static func placesOfDateRange(_ attributes: HLSAttributes) -> [Place] {
        guard let value = attributes["CLASS"]?.value else { return [] }
        if value.equals("com.apple.hls.interstitial") {
            return [Place(attribute: "X-ASSET-URI", role: .interstitialAsset), Place(attribute: "X-ASSET-LIST", role: .assetList)]
        }
        return value.equals("com.apple.hls.preload") ? [Place(attribute: "X-URI", role: .hint)] : []
    }

    /// Whether the tag occurs in multivariant playlists only (rfc8216bis §4.4.6).
    static func isMultivariant(_ name: ArraySlice<UInt8>) -> Bool { multivariant.contains { name.equals($0) } }

    private static let multivariant: [StaticString] = [
        "EXT-X-STREAM-INF", "EXT-X-MEDIA", "EXT-X-I-FRAME-STREAM-INF", "EXT-X-IMAGE-STREAM-INF", "EXT-X-SESSION-DATA",
        "EXT-X-SESSION-KEY", "EXT-X-CONTENT-STEERING",
    ]
}
