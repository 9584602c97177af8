import SpoolManifests

/// The places of DASH documents that contain URLs, and the schemes that give a value its meaning.
enum DASHPlace {
    /// The role of an attribute's URL; nil for an attribute without one.
    static func role(element: String, attribute: String) -> ManifestReference.Role? {
        switch (element, attribute) {
        case ("SegmentTemplate", "media"), ("SegmentURL", "media"): .segment
        case ("SegmentTemplate", "index"), ("SegmentURL", "index"), ("RepresentationIndex", "sourceURL"): .index
        case ("SegmentTemplate", "initialization"), ("SegmentTemplate", "bitstreamSwitching"), ("Initialization", "sourceURL"),
            ("BitstreamSwitching", "sourceURL"), ("InitializationSet", "initialization"), ("AdaptationSet", "initializationPrincipal"):
            .map
        case ("InsertPresentation", "uri"), ("InsertPresentation", "url"), ("ReplacePresentation", "uri"), ("ReplacePresentation", "url"),
            ("ImportedMPD", "uri"):
            .playlist
        default: nil
        }
    }

    /// The role of the URL that an element contains; nil for an element without one.
    static func role(ofTextIn element: String) -> ManifestReference.Role? {
        switch element {
        case "BaseURL": .base
        case "Location", "ImportedMPD": .playlist
        case "PatchLocation": .patch
        default: nil
        }
    }

    /// Properties whose value is a list of MPDs.
    static let linkSchemes: Set<String> = [
        "urn:mpeg:dash:mpd-chaining:2016", "urn:mpeg:dash:fallback:2016", "urn:mpeg:dash:mpd-as-linking:2015",
    ]

    /// The property of pictures for fast forward. Players do not play such a set as the film.
    static let trickModeScheme = "http://dashif.org/guidelines/trickmode"

    /// Events whose content is a URL to call.
    static let callbackScheme = "urn:mpeg:dash:event:callback:2015"

    /// Whether the value of a clock is a list of URLs. NTP has names of servers, and `direct` a time.
    static func isClockWithURL(_ scheme: String) -> Bool {
        ["http-head", "http-xsdate", "http-iso", "http-ntp"].contains { scheme.lowercased().hasPrefix("urn:mpeg:dash:utc:\($0):") }
    }

    /// Elements below `ContentProtection` with the URL of a licence server, in lower case.
    static let licenceNames: Set<String> = ["laurl", "certurl", "authzurl"]

    /// Attributes of these elements with such a URL.
    static let licenceAttributes = ["licenseUrl", "LA_URL"]
}

/// The place in an MPD that an operation of a patch changes (RFC 5261).
///
/// Only the last steps of its selector matter: the name of an element, and of an attribute.
struct DASHPatchPlace: Hashable {
    /// The name of the element, without prefix.
    var element = ""
    /// The name of the attribute, or nil when the operation changes an element or its text.
    var attribute: String?

    init(selector: String, type: String?) {
        var steps = Self.steps(of: selector)
        if let type, type.hasPrefix("@") { attribute = Self.local(type.dropFirst()) }
        if let last = steps.last, last.hasPrefix("@") {
            attribute = Self.local(last.dropFirst())
            steps.removeLast()
        } else if steps.last?.hasPrefix("text()") == true {
            steps.removeLast()
        }
        element = steps.last.map { Self.local($0.prefix { $0 != "[" }) } ?? ""
    }

    /// The steps of a selector. A slash inside a predicate separates nothing.
    private static func steps(of selector: String) -> [Substring] {
        var quote: Character?
        var brackets = 0
        return selector.split { character in
            if let open = quote {
                if character == open { quote = nil }
                return false
            }
            switch character {
            case "\"", "'": quote = character
            case "[": brackets += 1
            case "]": brackets -= 1
            default: return character == "/" && brackets <= 0
            }
            return false
        }
    }

    private static func local(_ name: Substring) -> String {
        String(name.split(separator: ":").last ?? "")
    }
}
