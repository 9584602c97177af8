import SpoolCore
import SpoolManifests

/// One URL that references at a place of an MPD are resolved against.
///
/// `BaseURL` elements of several levels make a chain, and several of one level are alternatives. A
/// place can therefore have several bases.
struct DASHBase: Hashable, Sendable {
    var base: ManifestBase
    /// Whether the whole chain is known. In a patch and in a remote element, the levels above are
    /// in another document.
    var isKnown = true

    /// The most alternatives of one place. A player that fails at all of them fails without a
    /// cache, too.
    static let maxAlternatives = 64

    var url: URIReference { base.url }

    var isHTTP: Bool { ["http", "https"].contains(url.scheme?.lowercased() ?? "") }

    /// Whether both are the base of the same element.
    static func == (a: DASHBase, b: DASHBase) -> Bool { a.base === b.base && a.isKnown == b.isKnown }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(base)) }

    /// The base that a `BaseURL` with this text makes below this one; nil when the text is not a
    /// URI.
    func appending(_ text: String) -> DASHBase? {
        guard let reference = try? URIReference(lenient: text), let resolved = base.resolved(text) else { return nil }
        guard let next = try? ManifestBase(resolved) else { return nil }
        return DASHBase(base: next, isKnown: isKnown || reference.scheme != nil)
    }
}

/// The bases of each representation that uses a place of an MPD.
struct DASHBases {
    /// The bases of each representation. Those of one representation are alternatives: each of them
    /// leads to the same content.
    let groups: [[DASHBase]]
    /// Each base once.
    let distinct: [DASHBase]
    /// Whether all bases are URLs of HTTP.
    let areHTTP: Bool
    /// The bytes of the paths of all distinct bases.
    let pathBytes: Int

    init(_ groups: [[DASHBase]]) {
        self.groups = groups
        var seen = Set<DASHBase>()
        distinct = groups.joined().filter { seen.insert($0).inserted }
        areHTTP = distinct.allSatisfy(\.isHTTP)
        pathBytes = distinct.reduce(0) { $0 + $1.url.path.utf8.count }
    }

    /// The bytes that resolving `text` against every base adds to reading it once.
    func resolvedBytes(_ text: String) -> Int {
        pathBytes + distinct.count * ManifestLimits.bytesOfReference + max(0, distinct.count - 1) * text.utf8.count
    }

    /// Returns the first base of the first representation whose target is one of each other
    /// representation, too.
    ///
    /// - Parameter targets: The meaning of a reference below each of the distinct bases.
    func first(whereTarget targets: [String?]) -> DASHBase? {
        let byBase = Dictionary(zip(distinct, targets)) { first, _ in first }
        let all = groups.map { Set($0.compactMap { byBase[$0] ?? nil }) }
        return groups[0].first { base in
            guard let target = byBase[base] ?? nil else { return false }
            return all.allSatisfy { $0.contains(target) }
        }
    }
}

/// The change that a reference needs, so that a player which resolves it against the proxy's URLs
/// gets the resource that the original means.
///
/// The proxy's URLs have the path form: they end with the path and query of the original. Most
/// relative references therefore stay as they are. Templates are never resolved by parts, so that
/// `$Number%05d$` stays as it is.
enum DASHChange: Hashable {
    /// The bytes stay as they are.
    case none
    /// The reference must become the proxy's URL of what it means below this base.
    case proxied(ManifestBase)
    /// The reference must become this relative one, which is right below every base.
    case relative(String)

    /// Decides about a reference.
    ///
    /// - Parameter spend: Is called with the number of bytes that the decision resolves, before it
    ///   resolves them.
    init(_ text: String, in bases: DASHBases, spend: (Int) throws(ParseError) -> Void) throws(ParseError) {
        self = .none
        // Below a base of another scheme, a path of the proxy means nothing.
        guard let form = Form(text), let first = bases.distinct.first, bases.areHTTP else { return }
        if form == .absolute {
            self = .proxied(first.base)
            return
        }
        try spend(bases.resolvedBytes(text))
        guard form == .fromRoot || bases.distinct.contains(where: { $0.isLeft(by: text) }) else { return }
        let targets = bases.distinct.map { $0.base.resolved(text) }
        if Set(targets.compactMap(\.self)).count == 1 {
            self = .proxied(first.base)
        } else if let relative = Self.climbing(text, from: bases.distinct) {
            self = .relative(relative)
        } else if let shared = bases.first(whereTarget: targets) {
            self = .proxied(shared.base)
        }
    }

    /// The reference from the root, in the form of steps up. It exists when all bases are equally
    /// deep.
    private static func climbing(_ text: String, from bases: some Sequence<DASHBase>) -> String? {
        guard text.hasPrefix("/"), !text.hasPrefix("//") else { return nil }
        guard let text = try? URIReference("/").resolving(lenient: text).text else { return nil }
        let depths = Set(bases.map(\.depth))
        guard depths.count == 1, let depth = depths.first, depth <= maxSteps else { return nil }
        return depth == 0 ? "." + text : String(repeating: "../", count: depth) + text.dropFirst()
    }

    /// The most steps up that are written.
    private static let maxSteps = 32
}

extension DASHChange {
    /// The forms of references that may need a change.
    private enum Form {
        /// `http://host/path`
        case absolute
        /// `//host/path`, `/path`
        case fromRoot
        /// A path with steps up.
        case climbing

        /// Returns nil for a reference that keeps its meaning: a plain relative one, and one of
        /// another scheme.
        init?(_ text: String) {
            guard let first = text.utf8.first else { return nil }
            if first == UInt8(ascii: "/") {
                self = .fromRoot
                return
            }
            let end = text.utf8.firstIndex { $0 == .colon || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == .hash }
            if let end, text.utf8[end] == .colon {
                guard ["http", "https"].contains(text[..<end].lowercased()) else { return nil }
                self = .absolute
            } else if text.contains("..") {
                self = .climbing
            } else {
                return nil
            }
        }
    }
}

extension DASHBase {
    /// The number of segments between the root and the last slash of the path.
    fileprivate var depth: Int { max(0, url.path.utf8.count { $0 == UInt8(ascii: "/") } - 1) }

    /// Whether a reference climbs above the root, where the proxy's URLs go on.
    fileprivate func isLeft(by text: String) -> Bool { isKnown && stepsUp(text) > depth }

    /// The largest number of segments that the reference climbs above the base.
    private func stepsUp(_ text: String) -> Int {
        let path = text.prefix { $0 != "?" && $0 != "#" }
        var steps = 0, highest = 0
        for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
            if segment == ".." {
                steps += 1
                highest = max(highest, steps)
            } else if segment != "." {
                steps -= 1
            }
        }
        return highest
    }
}
