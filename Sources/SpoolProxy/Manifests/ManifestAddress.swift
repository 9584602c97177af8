import SpoolCore
import SpoolManifests
import SpoolOrigin

/// The URLs at this proxy for the references of one manifest. A pure function of the reference, the
/// manifest's URL and the proxy's own form, so that two references to one resource stay equal.
final class ManifestAddress {
    private let rules: ProxyTargetRules
    private let prefix: String
    private let isPathForm: Bool
    private let home: URIReference.Origin?
    private let place: String
    private let mayLead: (URIReference.Origin) -> Bool
    private let proof: (String) -> String
    /// The URLs of the references so far.
    private(set) var children: ManifestChildren
    /// The last origin to which the manifest may lead.
    private var lastAllowed: URIReference.Origin?
    /// The last origin that a URL began with, as `scheme://authority/`, and its place at this
    /// proxy.
    private var lastOrigin: (origin: [UInt8], place: Place) = ([], .byText)

    /// The place of an origin's URLs at this proxy.
    private enum Place {
        /// Each URL is judged by itself.
        case byText
        /// All paths begin with the same bytes.
        case common([UInt8])
        /// Each path begins with a proof of its own, before `scheme/authority`.
        case proved(authority: String)
    }

    /// Creates the URLs of one manifest.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of every path at this proxy.
    ///   - isPathForm: Whether the client has the manifest by its path form, so that relative
    ///     references lead through the proxy by themselves.
    ///   - home: The origin of the manifest, whose resources get the client's credentials, or nil
    ///     when the manifest itself is one of another origin.
    ///   - place: Scheme, host and port by which the client reaches the proxy.
    ///   - url: The URL of the manifest.
    ///   - mayLead: Returns whether the manifest may lead this proxy to an origin.
    ///   - proof: Returns the proof for the beginning of URLs of another origin than the fixed one.
    init(
        rules: ProxyTargetRules, prefix: String, isPathForm: Bool, home: URIReference.Origin?, place: String, url: String,
        mayLead: @escaping (URIReference.Origin) -> Bool, proof: @escaping (String) -> String
    ) {
        self.rules = rules
        self.prefix = prefix
        self.isPathForm = isPathForm
        self.home = home
        self.place = place
        self.mayLead = mayLead
        self.proof = proof
        children = ManifestChildren(of: url)
    }

    /// Returns the text that leads to the resource of `reference` through the proxy, or nil when
    /// the reference stays as it is: it leads there by itself, or to a resource that the proxy
    /// leaves to the player.
    func replacement(for reference: ManifestReference) -> String? {
        guard let url = reference.url else { return nil }
        children.insert(url)
        var text = reference.text
        if isPathForm, text.withUTF8({ UnsafeRawBufferPointer($0).isPlainlyRelative }) { return nil }
        guard let path = path(of: url, reference.role) else {
            // Without a scheme, the player would take the proxy's own.
            return text.utf8.starts(with: "//".utf8) ? url : nil
        }
        if reference.role == .interstitialAsset { return "\(place)\(path)" }
        return isPathForm && leads(reference, to: path) ? nil : path
    }

    private func path(of url: String, _ role: ManifestReference.Role = .playlist) -> String? {
        guard let reference = try? URIReference(lenient: url), let url = try? MediaURL(reference) else { return nil }
        guard url.origin == lastAllowed || mayLead(url.origin) else { return nil }
        lastAllowed = url.origin
        let scope = scope(of: role, isTemplate: url.text.utf8.contains(.dollar))
        return rules.childPath(of: url, fragment: reference.fragment, prefix: prefix, home: home, scope: scope, proof: proof)
    }

    /// Returns the change to a reference in the usual form: a relative one that leads through the
    /// proxy by itself, or an absolute one. A long playlist has thousands, all of one origin.
    func change(to text: UnsafeRawBufferPointer, _ role: ManifestReference.Role) -> VerbatimChange {
        guard role != .interstitialAsset else { return .byText }
        let isSame = !lastOrigin.origin.isEmpty && lastOrigin.origin.withUnsafeBytes { text.begins(with: $0, at: 0) }
        guard let length = isSame ? lastOrigin.origin.count : text.lengthOfUsualOrigin, text.isUsualPath(from: length) else {
            guard isPathForm, text.isPlainlyRelative, text.firstIndex(outside: 0x21...0x7E, from: 0) == nil else { return .byText }
            children.insert(text, isRelative: true)
            return .none
        }
        if !isSame {
            let origin = text[..<length]
            lastOrigin = (Array(origin), place(ofOrigin: String(decoding: origin, as: UTF8.self)))
        }
        let place: [UInt8]
        switch lastOrigin.place {
        case .common(let beginning): place = beginning
        case .proved(let authority):
            let target = UnsafeRawBufferPointer(rebasing: text[(length - 1)...])
            // The proof does not cover a fragment, which the player keeps for itself.
            guard !target.contains(.hash) else { return .byText }
            let scope = scope(of: role, isTemplate: target.contains(.dollar))
            place = Array(
                rules.provedPlace(of: authority, scope.covered(of: String(decoding: target, as: UTF8.self)), prefix: prefix, proof).utf8)
        case .byText: return .byText
        }
        children.insert(text, isRelative: false)
        return .beginning(length: length, text: place)
    }

    /// Returns the place of the URLs of the origin that `url` consists of.
    private func place(ofOrigin url: String) -> Place {
        guard let path = path(of: url), let parsed = try? MediaURL(url) else { return .byText }
        return rules.provesEachURL(of: parsed.origin) ? .proved(authority: ProxiedPath.authority(of: parsed)) : .common(Array(path.utf8))
    }

    private func scope(of role: ManifestReference.Role, isTemplate: Bool) -> ChildScope {
        role.namesFurther || isTemplate ? .directory : .resource
    }

    /// Whether a client that resolves the reference as it is comes to `path`.
    private func leads(_ reference: ManifestReference, to path: String) -> Bool {
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

    /// Whether the text from `start` on is visible ASCII, no segment begins with a dot, and the
    /// first one is not empty.
    ///
    /// - Precondition: `start` is behind a slash.
    fileprivate func isUsualPath(from start: Int) -> Bool {
        if start < count, self[start] == .slash || self[start] == .backslash { return false }
        var next = start
        while let index = firstIndex(outside: 0x21...0x7E, orOf: .dot, from: next) {
            if self[index] != .dot || self[index - 1] == .slash { return false }
            next = index + 1
        }
        return true
    }

    /// Whether the text is a path below the directory of its base: it resolves to the same place in
    /// every directory, and can't leave it.
    fileprivate var isPlainlyRelative: Bool {
        guard let first, first != .slash, first != .question, first != .hash, first != .backslash else { return false }
        // A dot segment, and an encoded one, which browsers treat alike, may lead out of the path
        // of the origin. A colon may end a scheme.
        var previous = UInt8.slash
        for byte in self {
            if byte == .question || byte == .hash { return true }
            if byte == .colon || (previous == .slash && (byte == .dot || byte == .percent)) { return false }
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
        proof: (String) -> String
    ) -> String? {
        guard mayAsk(url.origin) else { return nil }
        let rest = url.target + (fragment.map { "#\($0)" } ?? "")
        if url.origin == fixedOrigin { return ProxiedPath.siteText(of: rest, below: prefix) }
        let authority = ProxiedPath.authority(of: url)
        guard fixedOrigin != nil else { return "\(prefix)\(url.origin == home ? "" : Self.childPath)\(authority)\(rest)" }
        let covered = provesEachURL(of: url.origin) ? scope.covered(of: url.target) : "/"
        return provedPlace(of: authority, covered, prefix: prefix, proof) + rest.dropFirst()
    }

    /// Returns the beginning of a path with a proof, up to the slash behind the authority.
    ///
    /// - Parameter covered: The beginning of the URL's path and query that the proof covers.
    func provedPlace(of authority: String, _ covered: Substring, prefix: String, _ proof: (String) -> String) -> String {
        "\(prefix)\(Self.childPath)\(ChildProof(authority + covered, proof).text)/\(authority)/"
    }

    /// Returns the meaning of a path below `ProxiedPath.childPrefix`: `scheme/authority/path`,
    /// behind a proof with a fixed origin.
    ///
    /// With a fixed origin, only resources that a manifest named are served. The gateway would be
    /// an open proxy otherwise.
    func foreign(_ path: Substring, isFromNetwork: Bool, proof: (String) -> String) -> ProxyTarget {
        guard fixedOrigin != nil else { return withinReach(place(path), isFromNetwork: isFromNetwork) }
        guard let child = ChildProof.split(path), child.proof.covers(child.rest, proof) else {
            return .refused(.init(status: 403, explanation: "no manifest of this site names this resource"))
        }
        return withinReach(place(child.rest), isFromNetwork: isFromNetwork)
    }

    /// Whether `path` is the path of a manifest at the proxy, below which its relative references
    /// lead through the proxy.
    func isPathForm(_ path: String, of url: MediaURL, prefix: String, home: URIReference.Origin?, proof: (String) -> String) -> Bool {
        guard let own = childPath(of: url, prefix: prefix, home: home, proof: proof) else { return false }
        if own == path { return true }
        // The path of a relative reference has the proof of the manifest that names it.
        let foreign = "\(prefix)\(Self.childPath)"
        guard fixedOrigin != nil, own.hasPrefix(foreign), path.hasPrefix(foreign) else { return false }
        guard let child = ChildProof.split(path.dropFirst(foreign.count)), child.proof.coversDirectory(of: child.rest) else { return false }
        return child.rest == ChildProof.split(own.dropFirst(foreign.count))?.rest
    }
}
