// The directives that we know, by name (RFC 9111 §5.2.1 and §5.2.2, RFC 5861, RFC 8246).

extension CacheControl {
    /// What a directive covers that may name fields.
    package enum Scope: Hashable, Sendable {
        /// The whole response.
        case response
        /// These fields only, their names in lower case.
        case fields([String])
    }

    /// Seconds of staleness that a client takes.
    package enum Staleness: Hashable, Sendable {
        /// However stale.
        case any
        /// At most this many seconds past freshness.
        case seconds(Int64)
    }

    // MARK: Requests and responses

    /// `no-store`: keep nothing of this. True also where the field was too long to know.
    package var noStore: Bool { isCutOff || contains("no-store") }

    /// `no-transform`: pass the content on as it is.
    package var noTransform: Bool { contains("no-transform") }

    /// `max-age` in seconds.
    package var maxAge: Int64? { seconds("max-age") }

    /// `no-cache`: not to be used without revalidation, or these fields are not to be.
    package var noCache: Scope? { scope("no-cache") }

    /// `stale-if-error` in seconds (RFC 5861 §4).
    package var staleIfError: Int64? { seconds("stale-if-error") }

    // MARK: Responses

    /// `private`: not for a cache that many users share, or these fields are not.
    package var `private`: Scope? { scope("private") }

    /// `public`: may be stored even where that is not the rule.
    package var `public`: Bool { contains("public") }

    /// `s-maxage` in seconds, for caches that many users share.
    package var sMaxAge: Int64? { seconds("s-maxage") }

    /// `must-revalidate`: never used stale.
    package var mustRevalidate: Bool { contains("must-revalidate") }

    /// `proxy-revalidate`: never used stale by a cache that many users share.
    package var proxyRevalidate: Bool { contains("proxy-revalidate") }

    /// `must-understand`: stored only by who knows the status (RFC 9111 §5.2.2.3).
    package var mustUnderstand: Bool { contains("must-understand") }

    /// `immutable`: does not change while it is fresh (RFC 8246).
    package var immutable: Bool { contains("immutable") }

    /// `stale-while-revalidate` in seconds (RFC 5861 §3).
    package var staleWhileRevalidate: Int64? { seconds("stale-while-revalidate") }

    // MARK: Requests

    /// `only-if-cached`: do not ask the origin; 504 when nothing is stored.
    package var onlyIfCached: Bool { contains("only-if-cached") }

    /// `min-fresh`: fresh for this many seconds more.
    package var minFresh: Int64? { seconds("min-fresh") }

    /// `max-stale`: stale is fine, by so much.
    package var maxStale: Staleness? {
        guard let directive = directives.first(where: { $0.name == "max-stale" }) else { return nil }
        return directive.argument.map { .seconds(Self.deltaSeconds($0) ?? 0) } ?? .any
    }

    // MARK: Scopes

    private func scope(_ name: String) -> Scope? {
        var names: [String] = []
        for directive in directives where directive.name == name {
            guard let argument = directive.argument else { return .response }
            names += Self.fieldNames(argument)
        }
        if !names.isEmpty { return .fields(names) }
        // An argument without a name in it can't be meant to cover nothing.
        return contains(name) ? .response : nil
    }

    private static func fieldNames(_ argument: String) -> [String] {
        var scanner = ByteScanner(argument)
        var names: [String] = []
        while !scanner.isAtEnd {
            scanner.skipWhitespace()
            if let name = scanner.token() { names.append(name.asciiLowercased) }
            scanner.skipElement()
            _ = scanner.take(.comma)
        }
        return names
    }
}
