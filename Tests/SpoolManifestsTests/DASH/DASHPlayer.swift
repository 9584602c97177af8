import SpoolCore

/// The URLs that a player asks for an MPD, from the tree of an independent parser.
///
/// Each place of the MPD has a name, and the URLs that it leads to: one for each chain of
/// alternative bases.
struct DASHPlayer {
    /// A place and its URLs.
    struct Place: Equatable {
        var name: String
        var urls: [String]
        /// Whether the player asks the server itself, as for the time.
        var isDirect = false
    }

    private(set) var places: [Place] = []
    private let document: URIReference
    /// Whether the player reads references as browsers do (WHATWG URL §4.4).
    private let isBrowser: Bool

    init(_ mpd: XMLTree, at url: String, isBrowser: Bool) throws {
        document = try URIReference(url)
        self.isBrowser = isBrowser
        visit(mpd, path: "MPD", bases: [document], inherited: [:])
    }

    private mutating func visit(_ element: XMLTree, path: String, bases outer: [URIReference], inherited: [String: XMLTree]) {
        let own = element.children("BaseURL")
        let bases = own.isEmpty ? outer : own.flatMap { base in outer.compactMap { resolve(base.trimmedText, $0) } }
        var inherited = inherited
        for child in element.children {
            let name = child.localName
            if ["SegmentTemplate", "SegmentList", "SegmentBase"].contains(name) { inherited[name] = child }
            if name != "BaseURL" { add(child, path: "\(path)/\(name)", bases: bases) }
        }
        for (name, value) in element.sorted where ["initialization", "initializationPrincipal", "xlink:href"].contains(name) {
            add("\(path)@\(name)", value, bases)
        }
        if element.localName == "Representation" { addSegments(element, inherited, path: path, bases: bases) }
        var count = 0
        for child in element.children where !["SegmentTemplate", "SegmentList", "SegmentBase", "BaseURL"].contains(child.localName) {
            count += 1
            visit(child, path: "\(path)/\(child.localName)[\(count)]", bases: bases, inherited: inherited)
        }
    }

    /// The places of a level that do not depend on a representation.
    private mutating func add(_ element: XMLTree, path: String, bases: [URIReference]) {
        let value = element.attributes["value"] ?? "", scheme = element.attributes["schemeIdUri"] ?? ""
        if element.localName == "SegmentList", let href = element.attributes["xlink:href"] { add("\(path)@href", href, bases) }
        switch element.localName {
        case "Location", "PatchLocation", "ImportedMPD": add(path, element.trimmedText, [document])
        case "InsertPresentation", "ReplacePresentation": add(path, element.attributes["uri"] ?? "", [document])
        case "UTCTiming" where scheme.contains(":http-"):
            for (index, url) in value.split(separator: " ").enumerated() { add("\(path)\(index)", String(url), [document], isDirect: true) }
        case "Event" where !element.trimmedText.isEmpty: add(path, element.trimmedText, [document], isDirect: true)
        case "Laurl" where !element.trimmedText.isEmpty: add(path, element.trimmedText, [document], isDirect: true)
        case "SupplementalProperty", "EssentialProperty":
            guard ["mpd-chaining", "fallback", "mpd-as-linking"].contains(where: { scheme.contains($0) }) else { return }
            for (index, url) in value.split(separator: " ").enumerated() { add("\(path)\(index)", String(url), [document]) }
        default: break
        }
    }

    private mutating func addSegments(_ element: XMLTree, _ inherited: [String: XMLTree], path: String, bases: [URIReference]) {
        add("\(path) base", "", bases)
        if let template = inherited["SegmentTemplate"] {
            for (name, value) in template.sorted where ["media", "initialization", "index", "bitstreamSwitching"].contains(name) {
                add("\(path) template \(name)", Self.expanded(value, id: element.attributes["id"] ?? ""), bases)
            }
        }
        for place in inherited.values.sorted(by: { $0.localName < $1.localName }) {
            for (index, child) in place.children.enumerated() {
                for (name, value) in child.sorted where ["media", "index", "sourceURL"].contains(name) {
                    add("\(path) \(child.localName)[\(index)]@\(name)", value, bases)
                }
            }
        }
    }

    private mutating func add(_ name: String, _ text: String, _ bases: [URIReference], isDirect: Bool = false) {
        places.append(Place(name: name, urls: bases.compactMap { resolve(text, $0)?.text }, isDirect: isDirect))
    }

    private func resolve(_ text: String, _ base: URIReference) -> URIReference? {
        let path = text.prefix { $0 != "?" && $0 != "#" }
        // No name of the tests has an encoded dot.
        let read = isBrowser ? path.replacing("\\", with: "/").replacing("%2e", with: ".").replacing("%2E", with: ".") : path
        guard let reference = try? URIReference(lenient: String(read + text.dropFirst(path.count))) else { return nil }
        return try? base.resolving(reference)
    }

    /// Replaces the identifiers of a template with the values of its third segment.
    static func expanded(_ template: String, id: String) -> String {
        let values = [
            "$RepresentationID$": id, "$Number$": "3", "$Number%05d$": "00003", "$Bandwidth$": "9000", "$Time$": "1234567",
            "$SubNumber$": "1",
            "$$": "$",
        ]
        var result = ""
        var rest = Substring(template)
        while let start = rest.firstIndex(of: "$") {
            result += rest[..<start]
            rest = rest[start...]
            guard let name = values.keys.first(where: { rest.hasPrefix($0) }) else {
                result.append(rest.removeFirst())
                continue
            }
            result += values[name] ?? ""
            rest = rest.dropFirst(name.count)
        }
        return result + rest
    }
}
