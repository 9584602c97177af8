// The known directives, by name (RFC 9111 §5.2.1 and §5.2.2, RFC 5861, RFC 8246).

extension CacheControl {
    /// The scope of a directive that may name fields.
    package enum Scope: Hashable, Sendable {
        /// The whole response.
        case response
        /// Only these fields. Their names are in lower case.
        case fields([String])
    }

    /// The staleness that a client accepts.
    package enum Staleness: Hashable, Sendable {
        /// Any staleness.
        case any
        /// At most this many seconds past freshness.
        case seconds(Int64)
    }

    // MARK: Requests and responses

    /// `no-store`: nothing of this message may be stored. Also true if the field has more than
    /// `maxDirectives`, because `no-store` may be among the rest.
    package var noStore: Bool { isCutOff || contains("no-store") }

    /// `max-age` in seconds.
    package var maxAge: Int64? { seconds("max-age") }

    /// `no-cache`: the response, or these fields of it, must not be used without revalidation.
    package var noCache: Scope? { scope("no-cache") }

    /// `stale-if-error` in seconds (RFC 5861 §4).
    package var staleIfError: Int64? { seconds("stale-if-error") }

    // MARK: Responses

    /// `private`: a shared cache must not store the response, or these fields of it.
    package var `private`: Scope? { scope("private") }

    /// `public`: the response may be stored even where the rules would forbid it.
    package var `public`: Bool { contains("public") }

    /// `s-maxage` in seconds, for shared caches.
    package var sMaxAge: Int64? { seconds("s-maxage") }

    /// `must-revalidate`: the response must not be used stale.
    package var mustRevalidate: Bool { contains("must-revalidate") }

    /// `proxy-revalidate`: a shared cache must not use the response stale.
    package var proxyRevalidate: Bool { contains("proxy-revalidate") }

    /// `must-understand`: only caches that support the status may store the response (RFC 9111
    /// §5.2.2.3).
    package var mustUnderstand: Bool { contains("must-understand") }

    /// `immutable`: the response does not change while it is fresh (RFC 8246).
    package var immutable: Bool { contains("immutable") }

    /// `stale-while-revalidate` in seconds (RFC 5861 §3).
    package var staleWhileRevalidate: Int64? { seconds("stale-while-revalidate") }

    // MARK: Requests

    /// `only-if-cached`: the cache must not ask the origin, and responds with 504 if nothing is
    /// stored.
    package var onlyIfCached: Bool { contains("only-if-cached") }

    /// `min-fresh`: the seconds for which the response has to remain fresh.
    package var minFresh: Int64? { seconds("min-fresh") }

    /// `max-stale`: the staleness that the client accepts.
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
        // A directive whose argument contains no name cannot be meant to cover nothing.
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
