import SpoolCore
import SpoolManifests

/// Finds the references of a DASH document that must change behind a proxy.
///
/// It walks down the tree with the bases of each level. Templates and lists are decided last at
/// each level, because they are resolved against the bases of the representations below.
struct DASHReferences {
    private(set) var contents: ManifestContents
    private let document: XMLDocument
    private let limits: ManifestLimits
    /// The base of the whole document.
    private let root: DASHBase
    private var resolvedBytes = 0
    /// Whether the document names other documents, which players resolve against its address.
    private var namesDocuments = false

    /// The bases of the whole document.
    private let rootBases: DASHBases

    init(_ document: XMLDocument, _ kind: ManifestKind, at url: String, limits: ManifestLimits) throws(ParseError) {
        self.document = document
        self.limits = limits
        contents = ManifestContents(kind)
        root = DASHBase(base: try ManifestBase(url), isKnown: kind == .mpd)
        rootBases = DASHBases([[root]])
        contents.lifetime = DASHLifetime.lifetime(of: document, kind)
        var element = 0
        while element < document.elements.count {
            if kind == .mpdPatch {
                try readPatch(element)
            } else {
                _ = try readLevel(element, outer: rootBases)
            }
            element = document.elements[element].next
        }
        if kind == .mpd, !namesDocuments { contents.base = base(of: 0) }
    }

    /// Returns how the document states the base of its references.
    private func base(of root: Int) -> ManifestContents.Base {
        let bases = document.children(of: root).filter { document.isDASH($0, "BaseURL") }
        guard bases.isEmpty else { return bases.allSatisfy { document.text(of: $0)?.text.isEmpty == false } ? .stated : .address }
        // `BaseURL` is the first element of a period. Some players know it in periods only.
        let periods = document.children(of: root).filter { document.isDASH($0, "Period") }
        let bare = periods.filter { !document.children(of: $0).contains { document.isDASH($0, "BaseURL") } }
        let places = bare.compactMap { document.children(of: $0).first { _ in true } }
        guard !places.isEmpty else { return bare.count == periods.count ? .address : .stated }
        let element = document.elements[root]
        let prefix = document.bytes[element.span.lowerBound + 1..<element.name.lowerBound]
        return .insertable(offsets: places.map { document.elements[$0].span.lowerBound }, prefix: String(decoding: prefix, as: UTF8.self))
    }

    // MARK: Levels

    /// Reads an element and everything inside.
    ///
    /// - Parameter outer: The bases of the level around the element, in one group.
    /// - Returns: The bases of the representations inside, each set once.
    private mutating func readLevel(_ element: Int, outer: DASHBases) throws(ParseError) -> [[DASHBase]] {
        let name = document.name(element)
        // It has most elements of a live stream, and no reference.
        guard name != "SegmentTimeline" else { return [] }
        if document.isDASH(element), try readLeaf(element, name) { return [] }
        let level = try readBases(of: element, outer: outer)
        try readAttributes(of: element, name, bases: level, level: level)
        var groups = name == "Representation" ? level.groups : []
        var seen = Set(groups)
        for child in document.children(of: element) where !isSegmentPlace(child) && !document.isDASH(child, "BaseURL") {
            for group in try readLevel(child, outer: level) where seen.insert(group).inserted && groups.count < Self.maxGroups {
                groups.append(group)
            }
        }
        let segmentBases = groups.isEmpty || groups == level.groups ? level : DASHBases(groups)
        for child in document.children(of: element) where isSegmentPlace(child) {
            try readSegments(child, segmentBases, level: level)
        }
        return groups
    }

    /// The most different sets of bases of one level.
    private static let maxGroups = 256

    /// Counts bytes of URLs that are going to be resolved.
    private mutating func spend(_ bytes: Int) throws(ParseError) {
        resolvedBytes += bytes
        guard resolvedBytes <= limits.maxResolvedBytes else {
            throw ParseError(offset: 0, limit: limits.resolvedBytesLimit)
        }
    }

    /// Reads the `BaseURL` elements of a level.
    ///
    /// - Returns: The bases of the level: those above when the level has none.
    private mutating func readBases(of element: Int, outer: DASHBases) throws(ParseError) -> DASHBases {
        var bases: [DASHBase] = []
        for child in document.children(of: element) where document.isDASH(child, "BaseURL") {
            guard let value = document.text(of: child) else { continue }
            try add(value, .base, in: outer)
            for base in outer.distinct where bases.count < DASHBase.maxAlternatives {
                try spend((bases.count + 1) * (base.url.text.utf8.count + value.text.utf8.count))
                guard let next = base.appending(value.text), !bases.contains(where: { $0.url == next.url }) else { continue }
                bases.append(next)
            }
        }
        return bases.isEmpty ? outer : DASHBases([bases])
    }

    // MARK: Segments

    private func isSegmentPlace(_ element: Int) -> Bool {
        guard document.isDASH(element) else { return false }
        return ["SegmentTemplate", "SegmentList", "SegmentBase"].contains(document.name(element))
    }

    private mutating func readSegments(_ element: Int, _ bases: DASHBases, level: DASHBases) throws(ParseError) {
        try readAttributes(of: element, document.name(element), bases: bases, level: level)
        for child in document.children(of: element) {
            try readAttributes(of: child, document.name(child), bases: bases, level: level)
        }
    }

    /// - Parameters:
    ///   - bases: The bases of segments.
    ///   - level: The bases of the level, for remote elements.
    private mutating func readAttributes(of element: Int, _ name: String, bases: DASHBases, level: DASHBases) throws(ParseError) {
        for attribute in document.attributes[document.elements[element].attributes] {
            if attribute.namespace == .xlink {
                guard document.bytes[attribute.name].elementsEqual("href".utf8) else { continue }
                try add(document.value(in: attribute.value), .fragment, in: level)
            } else if attribute.namespace == .none, document.isDASH(element) {
                let attributeName = String(decoding: document.bytes[attribute.name], as: UTF8.self)
                guard let role = DASHPlace.role(element: name, attribute: attributeName) else { continue }
                try add(document.value(in: attribute.value), role, in: role == .playlist ? rootBases : bases)
            }
        }
    }

    // MARK: Elements without a base of their own

    /// Reads an element whose content is a URL, or a name of a scheme with one.
    ///
    /// - Returns: false for another element.
    private mutating func readLeaf(_ element: Int, _ name: String) throws(ParseError) -> Bool {
        switch name {
        case "Location": try add(document.text(of: element), .playlist, in: rootBases)
        case "PatchLocation": try add(document.text(of: element), .patch, in: rootBases)
        case "ImportedMPD":
            try add(document.text(of: element), .playlist, in: rootBases)
            return false
        case "ContentSteering": contents.edits.replace(document.elements[element].span, with: [])
        case "UTCTiming": try readClock(element)
        case "EventStream":
            try readCallbacks(element)
            return false
        case "EssentialProperty", "SupplementalProperty":
            try readLinks(element)
            return false
        case "ContentProtection": try readLicences(element)
        default: return false
        }
        return true
    }

    /// Reads the references to other MPDs in the property of a scheme.
    private mutating func readLinks(_ element: Int) throws(ParseError) {
        guard let scheme = document.value("schemeIdUri", of: element), DASHPlace.linkSchemes.contains(scheme.lowercased()),
            let attribute = document.attribute("value", of: element)
        else { return }
        for value in document.list(in: attribute.value) { try add(value.withoutFragment(in: document), .playlist, in: rootBases) }
    }

    /// Clocks are asked directly: an answer from the store would be a wrong time.
    private mutating func readClock(_ element: Int) throws(ParseError) {
        guard let scheme = document.value("schemeIdUri", of: element), DASHPlace.isClockWithURL(scheme),
            let attribute = document.attribute("value", of: element)
        else { return }
        for value in document.list(in: attribute.value) { try keepDirect(value) }
    }

    /// Callbacks are counted by their server, so each of them goes there.
    private mutating func readCallbacks(_ stream: Int) throws(ParseError) {
        guard document.value("schemeIdUri", of: stream)?.lowercased() == DASHPlace.callbackScheme else { return }
        for event in document.children(of: stream) where document.isDASH(event, "Event") {
            guard document.value("contentEncoding", of: event) == nil else { continue }
            if let value = document.text(of: event) { try keepDirect(value) }
            if let value = document.attribute("messageData", of: event).flatMap({ document.value(in: $0.value) }) { try keepDirect(value) }
        }
    }

    /// Requests for licences are for one user, so they go to their server.
    private mutating func readLicences(_ element: Int) throws(ParseError) {
        for child in document.children(of: element) where DASHPlace.licenceNames.contains(document.name(child).lowercased()) {
            if let value = document.text(of: child) { try keepDirect(value) }
            for name in DASHPlace.licenceAttributes {
                if let value = document.attribute(name, of: child).flatMap({ document.value(in: $0.value) }) { try keepDirect(value) }
            }
        }
    }

    // MARK: Patches

    /// Reads the operations of a patch. Selectors stay as they are.
    private mutating func readPatch(_ element: Int) throws(ParseError) {
        for operation in document.children(of: element) where ["add", "replace"].contains(document.name(operation)) {
            let place = DASHPatchPlace(
                selector: document.value("sel", of: operation) ?? "", type: document.value("type", of: operation))
            if let attribute = place.attribute {
                if let role = DASHPlace.role(element: place.element, attribute: attribute) {
                    try add(document.text(of: operation), role, in: rootBases)
                }
            } else if let role = DASHPlace.role(ofTextIn: place.element) {
                try add(document.text(of: operation), role, in: rootBases)
            }
            _ = try readLevel(operation, outer: rootBases)
        }
    }

    // MARK: References

    private mutating func add(_ value: XMLValue?, _ role: ManifestReference.Role, in bases: DASHBases) throws(ParseError) {
        guard let value, !value.text.isEmpty else { return }
        if role == .playlist || role == .patch { namesDocuments = true }
        let plain = value.text.withPlainDotSegments
        var change = try change(plain, role, in: bases)
        // A reference that browsers read in their own way becomes one that every player reads so.
        if change == .none, plain != value.text { change = .relative(plain) }
        switch change {
        case .none: return
        case .relative(let text): contents.edits.replace(value.span, with: value.syntax.written(text) ?? Array(document.bytes[value.span]))
        case .proxied(let base):
            guard contents.references.count < limits.maxReferences else {
                throw ParseError(offset: value.span.lowerBound, limit: "at most \(limits.maxReferences) references")
            }
            contents.references.append(
                ManifestReference(span: value.span, text: value.text, base: base, role: role, syntax: value.syntax))
        }
    }

    private mutating func change(_ text: String, _ role: ManifestReference.Role, in bases: DASHBases) throws(ParseError) -> DASHChange {
        var scheme: String?
        // A text that is not a reference has no scheme.
        if let reference = try? URIReference(lenient: text) { scheme = reference.scheme.map(String.init) }
        // A player appends a relative reference of this role to the base as text. So each one
        // becomes absolute.
        // A client that has the document by another address needs the bases of the whole document.
        let isOfDocument = role == .base && root.isKnown && bases.groups == rootBases.groups
        if role == .fragment || isOfDocument, scheme == nil, let first = bases.distinct.first { return .proxied(first.base) }
        return try DASHChange(text, in: bases) { (bytes) throws(ParseError) in try spend(bytes) }
    }

    /// Makes a URL that does not go through the proxy absolute. A relative one would.
    private mutating func keepDirect(_ value: XMLValue) throws(ParseError) {
        guard let reference = try? URIReference(lenient: value.text), reference.scheme == nil, !value.text.isEmpty else { return }
        try spend(rootBases.resolvedBytes(value.text))
        guard let url = root.base.resolved(value.text), let written = value.syntax.written(url) else { return }
        contents.edits.replace(value.span, with: written)
    }
}

extension XMLValue {
    var syntax: ManifestReference.Syntax { isCDATA ? .cdata : .xml }

    /// The value up to its fragment, which a player keeps for itself.
    fileprivate func withoutFragment(in document: XMLDocument) -> XMLValue {
        let ampersand = UInt8(ascii: "&")
        let bytes = document.bytes
        guard text.contains("#"),
            let hash = bytes[span].indices.last(where: { bytes[$0] == .hash && ($0 == span.lowerBound || bytes[$0 - 1] != ampersand) })
        else { return self }
        return document.value(in: span.lowerBound..<hash, isCDATA: isCDATA) ?? self
    }
}
