package import SpoolCore
import SpoolOrigin
import SpoolSystem

extension ProxyTargetRules {
    /// Creates the rules from the options of a proxy.
    ///
    /// - Throws: `.configuration` for invalid options.
    package init(_ options: ProxyOptions) throws(CacheError) {
        let isLoopback = SocketAddress.resolve(options.host, port: options.port).allSatisfy(\.isLoopback)
        guard isLoopback || options.token != nil else {
            throw CacheError(.configuration, "\(options.host) can be reached by others: give a token (--token), or listen on 127.0.0.1")
        }
        guard options.fronts == nil || options.token != nil || options.fixedOrigin != nil || options.allowedOrigins != nil else {
            throw CacheError(
                .configuration,
                "behind a proxy, strangers reach every origin: give a token (--token), one site (--origin), or the origins that may be asked"
                    + " (--allow-origin)")
        }
        if let token = options.token, token.isEmpty || token != token.percentEncoded || token == ProxiedPath.ownSegment {
            throw CacheError(.configuration, "the token may have letters, digits, '-', '.', '_' and '~' only, and is not empty")
        }
        token = options.token
        programToken = options.programToken
        listensOnLoopback = isLoopback
        fixedOrigin = try options.fixedOrigin.map { text throws(CacheError) in try Self.origin(text) }
        allowedHosts = Set(options.allowedHosts.map(\.asciiLowercased))
        if let list = options.allowedOrigins {
            var origins = Set<URIReference.Origin>()
            for text in list { origins.insert(try Self.origin(text)) }
            // The site itself is asked whatever else is named.
            if let fixedOrigin { origins.insert(fixedOrigin) }
            allowedOrigins = origins
        } else {
            allowedOrigins = nil
        }
        reach = OriginReach(
            allowed: allowedOrigins, named: fixedOrigin.map { [$0] } ?? [], servesNetwork: !isLoopback || options.fronts != nil)
    }

    static func origin(_ text: String) throws(CacheError) -> URIReference.Origin {
        guard let reference = try? URIReference(text), let origin = reference.origin, reference.path.isEmpty || reference.path == "/",
            origin.scheme == "http" || origin.scheme == "https"
        else {
            throw CacheError(.configuration, "'\(text)' is not an origin such as https://example.com")
        }
        return origin
    }
}
