#if !os(watchOS)
package import AVFoundation
package import Spool
package import SpoolCore

/// The properties of an asset that its loader needs. It carries the original URL, which is never
/// rebuilt from the custom one.
package struct LoaderSource: Sendable {
    /// The URL that the app gave.
    package var originalURL: URL
    /// The key of the resource.
    package var key: ResourceKey
    /// The fields, networks and policy of the asset's reads.
    package var options: ReadOptions
    /// The app's hint on the type of the resource: a MIME type or a type identifier.
    package var typeHint: String?
    /// When the response expires according to the app, for example with the signature of the URL.
    package var renewalDate: Date?
    /// Returns a fresh URL when the present one expires or is refused.
    package var renewal: URLRenewal?
    /// Returns the cookies for requests, or nil when the options of the asset decide.
    package var cookies: (@Sendable (URL) -> [HTTPCookie])?
    /// The player's own fields about the play, from its last request.
    var playerFields: HTTPFields = [:]
    /// Returns the place at the proxy for a resource that turns out to be a playlist, or to have no
    /// length.
    var proxyRoute: (@Sendable () -> ProxyRoute?)?
    /// Whether the player gets a body without length from the proxy, which stores it.
    var storesOpenEndedBodies = false
    /// Returns whether the player could play the original by itself at the moment.
    var original: @Sendable () -> OriginalIsPlayable = { OriginalIsPlayable() }
    /// The URL of the next requests: the original one, or the last fresh one.
    package var presentURL: URL

    /// Creates the source of an asset.
    package init(originalURL: URL, key: ResourceKey, options: ReadOptions, typeHint: String? = nil, renewalDate: Date? = nil) {
        self.originalURL = originalURL
        self.key = key
        self.options = options
        self.typeHint = typeHint
        self.renewalDate = renewalDate
        presentURL = originalURL
    }

    /// The names of fields by which a player describes its play to the origin: Common Media Client
    /// Data (CTA-5004), and the session that AVFoundation names. They select no bytes.
    private static let playerFieldNames: Set<String> = [
        "cmcd-object", "cmcd-request", "cmcd-session", "cmcd-status", "x-playback-session-id",
    ]
    /// The most bytes of a value that is passed on.
    private static let maxPlayerFieldBytes = 2048

    /// Notes the fields of a player's request that describe its play.
    mutating func notePlayer(_ request: URLRequest) {
        var fields: HTTPFields = [:]
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key })
        where Self.playerFieldNames.contains(name.lowercased()) && value.utf8.count <= Self.maxPlayerFieldBytes {
            fields[name] = value
        }
        playerFields = fields
    }

    /// The fields of the next requests, with the present cookies and the player's own fields.
    func requestFields(now: Date) -> HTTPFields {
        var fields = ownFields(now: now)
        for field in playerFields.lines where fields[field.name] == nil { fields[field.name] = field.value }
        return fields
    }

    /// The fields of the asset, with the present cookies.
    func ownFields(now: Date) -> HTTPFields {
        var fields = options.requestFields
        guard let matching = cookies?(presentURL).filter({ $0.applies(to: presentURL, now: now) }), !matching.isEmpty else {
            return fields
        }
        for (name, value) in HTTPCookie.requestHeaderFields(with: matching) { fields[name] = value }
        return fields
    }
}

extension FallbackReason {
    /// The reason as text.
    var words: String {
        switch self {
        case .unknownLength: "the origin states no length"
        case .openEnded: "the origin states no length, and the proxy stores it"
        case .playlist: "it is a playlist, whose segments the loader can't give"
        case .contentCoding(let coding): "its bytes are coded by \(coding)"
        case .trouble(let code): "the cache can't serve it: \(code)"
        case .bypassed: "the cache is bypassed"
        case .rescued: "an item of it was rescued before"
        }
    }

    func error(_ key: ResourceKey) -> CacheError {
        let place = self == .openEnded ? "the player loads it through the proxy" : "the player loads the original URL by itself"
        return CacheError(.fellBack, "\(place): \(words)", key: key)
    }
}

/// The version whose information a player got.
struct ToldVersion {
    var generation: GenerationID
    var representation: Representation
    var contentType: String?

    /// Returns whether bytes of that version may follow bytes of this one.
    ///
    /// Another generation is the same version when both have one strong validator and one length.
    /// That happens when a resource was evicted or removed and then fetched again. Without a strong
    /// validator each request has a response of its own, as when the player loads without a cache.
    /// An equal length and type then make the same version for the player. Bytes of one response
    /// are never completed with stored bytes of another.
    func isSame(_ other: GenerationID, _ representation: Representation) -> Bool {
        if generation == other { return true }
        let told = self.representation
        guard told.length == representation.length else { return false }
        if told.validator.isStrong || representation.validator.isStrong { return told.validator == representation.validator }
        return told.looksLike(representation)
    }
}
#endif
