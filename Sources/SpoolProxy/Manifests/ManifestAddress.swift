import SpoolCore
import SpoolManifests
import SpoolOrigin

/// The URLs at this proxy for the references of one manifest. A pure function of the reference, the
/// manifest's URL and the proxy's own form, so that two references to one resource stay equal.
struct ManifestAddress {
    private let rules: ProxyTargetRules
    private let prefix: String
    private let isPathForm: Bool
    private let isAbsolute: Bool
    private let home: URIReference.Origin?
    private let place: String
    private let url: String
    /// The directory of the manifest.
    private let base: [UInt8]
    private let mayLead: (URIReference.Origin) -> Bool
    private let proof: ChildProof.Digest
    /// The URLs of the references so far.
    private(set) var children = ManifestChildren()
    /// The last origin to which the manifest may lead.
    private var lastAllowed: URIReference.Origin?
    /// The last directory of verbatim references.
    private var last = Directory()
    /// The last origin that a directory began with, as `scheme://authority/`, and the change to its
    /// URLs.
    private var lastOrigin: (text: [UInt8], change: Change) = ([], .byText)
    /// The place of that origin's URLs, if each has a proof.
    private var proved: ProvedPlace?

    /// A directory of verbatim references with plain names.
    private struct Directory {
        /// The place in the document, or nil before the first one.
        var place: Range<Int>?
        /// The hash of the absolute directory.
        var hash: UInt64 = 0
        var change = Change.byText
    }

    /// The change to the references of one directory.
    private enum Change {
        /// Each reference is judged by its text.
        case byText
        /// The references lead through the proxy by themselves.
        case none
        /// All URLs begin with the same bytes at this proxy.
        case common(length: Int, text: [UInt8])
        /// Each URL has a proof of its own.
        case proved(length: Int)
    }

    /// Creates the URLs of one manifest.
    ///
    /// - Parameters:
    ///   - cause: The manifest, and the way by which the client has it. In path form, relative
    ///     references lead through the proxy by themselves.
    ///   - prefix: The beginning of every path at this proxy.
    ///   - isAbsolute: Whether the URLs name the proxy. Players take a path from the root in a plain
    ///     list for that of a file.
    ///   - mayLead: Returns whether the manifest may lead this proxy to an origin.
    ///   - proof: Returns the proof for the beginning of URLs of another origin than the fixed one.
    init(
        of cause: ManifestMemo.Cause, rules: ProxyTargetRules, prefix: String, isAbsolute: Bool,
        mayLead: @escaping (URIReference.Origin) -> Bool, proof: @escaping ChildProof.Digest
    ) {
        self.rules = rules
        self.prefix = prefix
        self.isAbsolute = isAbsolute
        (isPathForm, home, place, url) = (cause.isPathForm, cause.home, cause.place, cause.url)
        let bytes = Array(url.utf8)
        base = bytes.withUnsafeBytes { Array($0[$0.split.directory]) }
        self.mayLead = mayLead
        self.proof = proof
    }

    /// Returns the text that leads to the resource of `reference` through the proxy, or nil when
    /// the reference stays as it is: it leads there by itself, or to a resource that the proxy
    /// leaves to the player.
    mutating func replacement(for reference: ManifestReference) -> String? {
        guard let url = reference.url else { return nil }
        children.insert(url)
        var text = reference.text
        if isPathForm, text.withUTF8({ UnsafeRawBufferPointer($0).isPlainlyRelative }) { return nil }
        guard let path = path(of: url, reference.role) else {
            // Without a scheme, the player would take the proxy's own.
            return text.utf8.first == .slash || text.utf8.first == .backslash ? url : nil
        }
        if reference.role == .interstitialAsset { return path }
        return isPathForm && leads(reference, to: path) ? nil : path
    }

    /// The directory of the manifest at this proxy, as an absolute URL: some players append relative
    /// references to it as text. Nil for a manifest that the proxy does not serve.
    var directory: String? {
        mutating get {
            path(of: url).flatMap { path in
                let path = path.prefix { $0 != "?" && $0 != "#" }
                return path.lastIndex(of: "/").map { "\(isAbsolute ? "" : place)\(path[...$0])" }
            }
        }
    }

    private mutating func path(of url: String, _ role: ManifestReference.Role = .playlist) -> String? {
        guard let reference = try? URIReference(lenient: url), let url = try? MediaURL(reference) else { return nil }
        guard url.origin == lastAllowed || mayLead(url.origin) else { return nil }
        lastAllowed = url.origin
        let scope: ChildScope = role.namesFurther || url.text.utf8.contains(.dollar) ? .directory : .resource
        return rules.childPath(of: url, fragment: reference.fragment, prefix: prefix, home: home, scope: scope, proof: proof)
            .map { isAbsolute || role == .interstitialAsset ? place + $0 : $0 }
    }

    /// Returns the change to a verbatim reference. A long playlist has thousands, most of one
    /// directory: a relative one that leads through the proxy by itself, or an absolute one in the
    /// usual form.
    mutating func change(to reference: ManifestReferences.Verbatim) -> VerbatimChange {
        guard reference.role != .interstitialAsset else { return .byText }
        if !reference.isBeside(last.place) { last = directory(of: reference) }
        let change: VerbatimChange
        switch last.change {
        case .byText: return .byText
        case .none: change = .none
        case .common(let length, let text): change = .beginning(length: length, text: text)
        case .proved(let length):
            let target = UnsafeRawBufferPointer(rebasing: reference.text[(length - 1)...])
            // The proof of a directory, and that of a template, is made from the text.
            guard !reference.role.namesFurther, reference.name.firstIndex(of: .dollar, from: 0) == nil,
                let text = proved?.text(covering: target, proof)
            else { return .byText }
            change = .beginning(length: length, text: text)
        }
        children.insert(directory: last.hash, name: reference.name)
        return change
    }

    private mutating func directory(of reference: ManifestReferences.Verbatim) -> Directory {
        let text = reference.directory
        var result = Directory(place: reference.place)
        let isSame = !lastOrigin.text.isEmpty && lastOrigin.text.withUnsafeBytes { text.begins(with: $0, at: 0) }
        if let length = isSame ? lastOrigin.text.count : text.lengthOfUsualOrigin, text.isUsualPath(from: length) {
            if !isSame { lastOrigin = (Array(text[..<length]), change(toOrigin: String(decoding: text[..<length], as: UTF8.self))) }
            (result.hash, result.change) = (ByteHash.hash(text), lastOrigin.change)
            if case .proved = result.change, text.firstIndex(of: .dollar, from: 0) != nil { result.change = .byText }
        } else if isPathForm, text.isEmpty || text.isPlainlyRelative {
            (result.hash, result.change) = ((base + text).withUnsafeBytes(ByteHash.hash), .none)
        }
        return result
    }

    /// Returns the change to the URLs of the origin that `url` consists of.
    private mutating func change(toOrigin url: String) -> Change {
        guard let path = path(of: url), let parsed = try? MediaURL(url) else { return .byText }
        let length = url.utf8.count
        guard rules.provesEachURL(of: parsed.origin) else { return .common(length: length, text: Array(path.utf8)) }
        // An absolute URL with a proof is made from the text.
        guard !isAbsolute else { return .byText }
        proved = ProvedPlace(below: rules.childBeginning(prefix), authority: ProxiedPath.authority(of: parsed))
        return .proved(length: length)
    }

    /// Whether every client that resolves the reference as it is comes to `path`: one that follows
    /// RFC 3986 to the letter, and a browser, whose reading `path` has.
    private mutating func leads(_ reference: ManifestReference, to path: String) -> Bool {
        guard let base = self.path(of: reference.base.url.text) else { return false }
        do { return try URIReference(base).resolving(URIReference(lenient: reference.text)).text == path } catch { return false }
    }
}

extension UnsafeRawBufferPointer {
    /// The length of `http://authority/` or `https://authority/` at the beginning of a URL that is
    /// written as the proxy writes it, or nil for other texts.
    fileprivate var lengthOfUsualOrigin: Int? {
        guard let schemeLength = begins(with: "http://") ? 7 : begins(with: "https://") ? 8 : nil else { return nil }
        var end = schemeLength
        while end < count, self[end].isOfUsualAuthority { end += 1 }
        return end < count && self[end] == .slash ? end + 1 : nil
    }

    /// Whether no segment from `start` on begins with a dot or an escape, none has a backslash, and
    /// the first one is not empty.
    ///
    /// - Precondition: `start` is behind a slash.
    fileprivate func isUsualPath(from start: Int) -> Bool {
        if start < count, self[start] == .slash { return false }
        var next = start
        while let mark = firstIndex(of: .dot, .percent, .backslash, from: next) {
            if self[mark] == .backslash || self[mark - 1] == .slash { return false }
            next = mark + 1
        }
        return true
    }

    /// Whether the text is a path below the directory of its base: it resolves to the same place in
    /// every directory, and can't leave it.
    fileprivate var isPlainlyRelative: Bool {
        guard let first, first != .slash, first != .question, first != .hash else { return false }
        // A dot segment, and an encoded one, which browsers treat alike, may lead out of the path
        // of the origin. Browsers read a backslash as a slash. A colon may end a scheme.
        var previous = UInt8.slash
        for byte in self {
            if byte == .question || byte == .hash { return true }
            if byte == .colon || byte == .backslash || (previous == .slash && (byte == .dot || byte == .percent)) { return false }
            previous = byte
        }
        return true
    }

    private func begins(with text: StaticString) -> Bool {
        text.withUTF8Buffer { begins(with: UnsafeRawBufferPointer($0), at: 0) }
    }
}

extension UInt8 {
    /// Whether the byte is a digit, a lower-case letter, a dot, a minus or a colon.
    fileprivate var isOfUsualAuthority: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), .dot, .colon, UInt8(ascii: "-"): true
        default: false
        }
    }

    fileprivate static let slash = UInt8(ascii: "/"), question = UInt8(ascii: "?"), hash = UInt8(ascii: "#"), dot = UInt8(ascii: ".")
    fileprivate static let colon = UInt8(ascii: ":"), percent = UInt8(ascii: "%"), backslash = UInt8(ascii: "\\")
    fileprivate static let dollar = UInt8(ascii: "$")
}

// MARK: - Children

extension ProxyTargetRules {
    /// Whether a request's path is one of a resource that a manifest names.
    func isForeign(path: String, prefix: String) -> Bool {
        path.utf8.starts(with: "\(prefix)\(Self.childPath)".utf8)
    }

    private static let childPath = ProxiedPath.ownPrefix + ProxiedPath.childPrefix

    /// Whether each URL of an origin has a proof of its own. The operator named neither the origin
    /// nor the URL, so a proof must not open the whole origin to its owner.
    func provesEachURL(of origin: URIReference.Origin) -> Bool {
        fixedOrigin != nil && origin != fixedOrigin && !reach.named.contains(origin)
    }

    /// Returns the path at the proxy of a resource that a manifest names, with its query and
    /// fragment. The last segments stay, because players look at the extension.
    ///
    /// - Parameters:
    ///   - home: The origin whose resources get the client's credentials in a general proxy, or nil
    ///     for none.
    ///   - scope: The part of another origin that the path opens.
    ///   - proof: Returns the proof for the beginning of URLs of another origin than the fixed one.
    ///     A manifest of the fixed origin may name them, and no client can make it.
    /// - Returns: The path, or nil for a resource that the proxy does not serve.
    func childPath(
        of url: MediaURL, fragment: Substring? = nil, prefix: String, home: URIReference.Origin?, scope: ChildScope = .directory,
        proof: ChildProof.Digest
    ) -> String? {
        guard mayAsk(url.origin) else { return nil }
        let rest = url.target + (fragment.map { "#\($0)" } ?? "")
        if url.origin == fixedOrigin { return ProxiedPath.siteText(of: rest, below: prefix) }
        let authority = ProxiedPath.authority(of: url)
        guard fixedOrigin != nil else { return "\(prefix)\(url.origin == home ? "" : Self.childPath)\(authority)\(rest)" }
        let covered = provesEachURL(of: url.origin) ? scope.covered(of: url.target) : "/"
        var place = ProvedPlace(below: childBeginning(prefix), authority: authority)
        return String(decoding: place.text(covering: covered.utf8, proof), as: UTF8.self) + rest.dropFirst()
    }

    /// The beginning of the paths of resources that a manifest names.
    func childBeginning(_ prefix: String) -> String { prefix + Self.childPath }

    /// Returns the meaning of a path below `ProxiedPath.childPrefix`: `scheme/authority/path`,
    /// behind a proof with a fixed origin.
    ///
    /// With a fixed origin, only resources that a manifest named are served. The gateway would be
    /// an open proxy otherwise.
    func foreign(_ path: Substring, isFromNetwork: Bool, proof: ChildProof.Digest) -> ProxyTarget {
        guard fixedOrigin != nil else { return withinReach(place(path), isFromNetwork: isFromNetwork) }
        guard let child = ChildProof.split(path), child.proof.covers(child.rest, proof) else {
            return .refused(.init(status: 403, explanation: "no manifest of this site names this resource"))
        }
        return withinReach(place(child.rest), isFromNetwork: isFromNetwork)
    }

    /// Whether `path` is the path of a manifest at the proxy, below which its relative references
    /// lead through the proxy.
    func isPathForm(_ path: String, of url: MediaURL, prefix: String, home: URIReference.Origin?, proof: ChildProof.Digest) -> Bool {
        guard let own = childPath(of: url, prefix: prefix, home: home, proof: proof) else { return false }
        if own == path { return true }
        // The path of a relative reference has the proof of the manifest that names it.
        let foreign = "\(prefix)\(Self.childPath)"
        guard fixedOrigin != nil, own.hasPrefix(foreign), path.hasPrefix(foreign) else { return false }
        guard let child = ChildProof.split(path.dropFirst(foreign.count)), child.proof.coversDirectory(of: child.rest) else { return false }
        return child.rest == ChildProof.split(own.dropFirst(foreign.count))?.rest
    }
}
