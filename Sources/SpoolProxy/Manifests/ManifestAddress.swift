import SpoolCore
import SpoolManifests

/// The URLs at this proxy for the references of one manifest. A pure function of the reference, the
/// manifest's URL and the proxy's own form, so that two references to one resource stay equal.
final class ManifestAddress {
    private let rules: ProxyTargetRules
    private let prefix: String
    private let isPathForm: Bool
    private let home: URIReference.Origin?
    private let authority: String
    private let proof: (URIReference.Origin) -> String
    /// The last origin that a URL began with, as `scheme://authority/`, and its place at this
    /// proxy.
    private var lastOrigin: (origin: [UInt8], place: [UInt8]?) = ([], nil)

    /// Creates the URLs of one manifest.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of every path at this proxy.
    ///   - isPathForm: Whether the client has the manifest by its path form, so that relative
    ///     references lead through the proxy by themselves.
    ///   - home: The origin of the manifest, whose resources get the client's credentials, or nil
    ///     when the manifest itself is one of another origin.
    ///   - authority: Host and port by which the client reaches the proxy.
    ///   - proof: Returns the proof for an origin besides the one that the proxy stands in for.
    init(
        rules: ProxyTargetRules, prefix: String, isPathForm: Bool, home: URIReference.Origin?, authority: String,
        proof: @escaping (URIReference.Origin) -> String
    ) {
        self.rules = rules
        self.prefix = prefix
        self.isPathForm = isPathForm
        self.home = home
        self.authority = authority
        self.proof = proof
    }

    /// Returns the text that leads to the resource of `reference` through the proxy, or nil when
    /// the reference stays as it is: it leads there by itself, or the proxy does not serve the
    /// resource.
    func replacement(for reference: ManifestReference) -> String? {
        var text = reference.text
        if isPathForm, text.withUTF8({ UnsafeRawBufferPointer($0).isPlainlyRelative }) { return nil }
        guard let url = reference.url, let path = path(of: url) else { return nil }
        if reference.role == .interstitialAsset { return "http://\(authority)\(path)" }
        return isPathForm && leads(reference, to: path) ? nil : path
    }

    private func path(of url: String) -> String? { rules.childPath(of: url, prefix: prefix, home: home, proof: proof) }

    /// Returns the change to a reference in the usual form: a relative one that leads through the
    /// proxy by itself, or an absolute one. A long playlist has thousands, all of one origin.
    func change(to text: UnsafeRawBufferPointer, _ role: ManifestReference.Role) -> VerbatimChange {
        guard role != .interstitialAsset else { return .byText }
        let isSame = !lastOrigin.origin.isEmpty && lastOrigin.origin.withUnsafeBytes { text.begins(with: $0, at: 0) }
        guard let length = isSame ? lastOrigin.origin.count : text.lengthOfUsualOrigin, text.isUsualPath(from: length) else {
            return isPathForm && text.isPlainlyRelative ? .none : .byText
        }
        if !isSame {
            let origin = text[..<length]
            lastOrigin = (Array(origin), path(of: String(decoding: origin, as: UTF8.self)).map { Array($0.utf8) })
        }
        return lastOrigin.place.map { .beginning(length: length, text: $0) } ?? .byText
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

    /// Whether the text from `start` on is visible ASCII, no segment begins with a dot, and the first
    /// one is not empty.
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
}

// MARK: - Children

extension ProxyTargetRules {
    /// The beginning of the paths, below the proxy's own, of resources of other origins than the
    /// fixed one, or than the one whose manifest names them. They get no credentials of clients.
    static let foreignPrefix = "child/"

    /// Whether a request's path is one of such a resource.
    func isForeign(path: String, prefix: String) -> Bool {
        path.utf8.starts(with: "\(prefix)\(Self.ownPrefix)\(Self.foreignPrefix)".utf8)
    }

    /// Returns the path at the proxy of a resource that a manifest names, with its query and
    /// fragment. The last segments stay, because players look at the extension.
    ///
    /// - Parameters:
    ///   - home: The origin whose resources get the client's credentials in a general proxy, or nil
    ///     for none.
    ///   - proof: Returns the proof for another origin than the fixed one. A manifest of the fixed
    ///     origin may name it, and no client can make it.
    /// - Returns: The path, or nil for a resource that the proxy does not serve.
    func childPath(
        of url: String, prefix: String, home: URIReference.Origin?, proof: (URIReference.Origin) -> String
    ) -> String? {
        guard let reference = try? URIReference(lenient: url), let url = try? MediaURL(reference), mayAsk(url.origin) else { return nil }
        let origin = url.origin
        let rest = url.target + (reference.fragment.map { "#\($0)" } ?? "")
        if origin == fixedOrigin { return Self.pathHere(of: rest, prefix: prefix) }
        let authority = (url.userinfo.map { "\($0)@" } ?? "") + origin.authority
        let foreign = "\(Self.ownPrefix)\(Self.foreignPrefix)"
        let place = fixedOrigin == nil ? (origin == home ? "" : foreign) : "\(foreign)\(proof(origin))/"
        return "\(prefix)\(place)\(origin.scheme)/\(authority)\(rest)"
    }

    /// Returns the meaning of a path below `foreignPrefix`: `scheme/authority/path`, behind a proof
    /// with a fixed origin.
    ///
    /// With a fixed origin, only resources that a manifest named are served. The gateway would be
    /// an open proxy otherwise.
    func foreign(_ path: Substring, isFromNetwork: Bool, proof: (URIReference.Origin) -> String) -> ProxyTarget {
        let refusal = ProxyTarget.refused(.init(status: 403, explanation: "no manifest of this site names this resource"))
        guard fixedOrigin != nil else { return withinReach(pathForm(path), isFromNetwork: isFromNetwork) }
        guard let slash = path.firstIndex(of: "/") else { return refusal }
        let target = withinReach(pathForm(path[path.index(after: slash)...]), isFromNetwork: isFromNetwork)
        guard case .resource(let url, _) = target else { return target }
        guard constantTimeEqual(path[..<slash], proof(url.origin)) else { return refusal }
        return target
    }
}
