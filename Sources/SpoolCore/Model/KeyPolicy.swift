/// The rules that turn a URL into the identity of a resource.
///
/// Without rules the key is the URL in normal form (see `ResourceKey.init(url:)`; docs/keys.md has
/// the table). Rules are added where several URLs name the same bytes:
///
///     let policy = KeyPolicy()
///         .dropQueryItems(named: ["Expires", "Signature"], forHosts: ["cdn.example.com"])
///         .sameHosts(["cdn.example.com", "*.cdn.example.com"])
///
/// A host is written as in a URL, without port, or as `*.example.com` for every name below
/// `example.com`. The rules affect only the key. Requests to the origin always use the URL that was
/// given last. A policy is a value and safe to share.
public struct KeyPolicy: Hashable, Sendable {
    private struct DroppedItems: Hashable, Sendable {
        /// The names of the items; nil for all items.
        var names: Set<String>?
        /// The hosts that the rule applies to; nil for every host.
        var hosts: HostSet?
    }

    private struct HostMap: Hashable, Sendable {
        var hosts: HostSet
        var target: String
    }

    /// A choice of keys by the app. Two of them are equal if they are the same object.
    private final class Choice: Hashable, Sendable {
        let key: @Sendable (String) -> ResourceKey?

        init(_ key: @escaping @Sendable (String) -> ResourceKey?) { self.key = key }

        static func == (a: Choice, b: Choice) -> Bool { a === b }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    private var choice: Choice?
    private var dropped: [DroppedItems] = []
    private var maps: [HostMap] = []

    /// The default policy.
    public init() {}

    /// Returns a policy that also drops the query items with these names: signatures, times,
    /// session numbers.
    ///
    /// Names compare byte by byte, without decoding percent-encoding. The order of the other items
    /// stays.
    /// - Parameters:
    ///   - names: The names of the query items, compared with their percent-encoding.
    ///   - hosts: The hosts of the URLs that the rule applies to, before any mapping; nil for all.
    public func dropQueryItems(named names: some Sequence<String>, forHosts hosts: [String]? = nil) -> KeyPolicy {
        adding(DroppedItems(names: Set(names), hosts: hosts.map { HostSet($0) }))
    }

    /// Returns a policy that also drops the whole query, for URLs whose query only identifies the
    /// user or an expiry time.
    ///
    /// - Parameter hosts: the hosts of the URLs that the rule applies to, before any mapping; nil
    ///   for all.
    public func dropAllQueryItems(forHosts hosts: [String]? = nil) -> KeyPolicy {
        adding(DroppedItems(names: nil, hosts: hosts.map { HostSet($0) }))
    }

    private func adding(_ rule: DroppedItems) -> KeyPolicy {
        var policy = self
        policy.dropped.append(rule)
        return policy
    }

    /// Returns a policy that also replaces hosts, for mirrors of the same content: each key of
    /// `map` becomes its value.
    ///
    /// Hosts have no port here, and a URL keeps its port. A host is replaced only once, and a later
    /// rule for the same host overrides an earlier one.
    public func mapHosts(_ map: [String: String]) -> KeyPolicy {
        var policy = self
        for (from, to) in map.sorted(by: { $0.key < $1.key }) {
            policy.maps.append(HostMap(hosts: HostSet([from]), target: to.asciiLowercased))
        }
        return policy
    }

    /// Returns a policy that also treats these hosts as one: the servers of a CDN that have the
    /// same content under the same paths.
    ///
    /// The key contains the first of them, which has to be a plain name and not a pattern.
    public func sameHosts(_ hosts: [String]) -> KeyPolicy {
        guard let first = hosts.first else { return self }
        var policy = self
        policy.maps.append(HostMap(hosts: HostSet(hosts), target: first.asciiLowercased))
        return policy
    }

    /// Returns a policy that asks the app for the key of a URL first. The rules apply where the app
    /// returns nil.
    ///
    ///     let policy = KeyPolicy().choosing { url in
    ///         url.hasPrefix("https://cdn.example.com/") ? ResourceKey(normalized: videoID(in: url)) : nil
    ///     }
    ///
    /// - Parameter key: Returns the key of a normalized URL, or nil. Called often and on any
    ///   thread: it must be quick, must not block, and must return the same key for the same URL. A
    ///   later call of this method replaces the closure.
    public func choosing(_ key: @escaping @Sendable (_ url: String) -> ResourceKey?) -> KeyPolicy {
        var policy = self
        policy.choice = Choice(key)
        return policy
    }

    /// The key of a URL.
    /// - Throws: `ParseError` for anything but an absolute `http` or `https` URL with a host.
    public func key(for url: String) throws(ParseError) -> ResourceKey { key(for: try MediaURL(url)) }

    /// The key of a URL.
    package func key(for url: MediaURL) -> ResourceKey {
        if let chosen = choice?.key(url.text) { return chosen }
        if dropped.isEmpty && maps.isEmpty { return ResourceKey(url) }
        var (origin, query) = (url.origin, url.query.map(String.init))
        for rule in dropped where rule.hosts?.contains(url.origin.host) != false {
            query = query.flatMap { Self.query($0, without: rule.names) }
        }
        if let map = maps.last(where: { $0.hosts.contains(url.origin.host) }) {
            origin = URIReference.Origin(scheme: origin.scheme, host: map.target, port: origin.port)
        }
        return ResourceKey(origin: origin, path: url.path, query: query)
    }

    /// The query without the items of these names.
    /// - Returns: nil if no item is left; the unchanged query if none is dropped.
    private static func query(_ query: String, without names: Set<String>?) -> String? {
        guard let names else { return nil }
        let items = query.split(separator: "&", omittingEmptySubsequences: false)
        let kept = items.filter { !names.contains(String($0.prefix { $0 != "=" })) }
        if kept.count == items.count { return query }
        return kept.isEmpty ? nil : kept.joined(separator: "&")
    }
}

/// A set of hosts, given by name or by the domain above them.
package struct HostSet: Hashable, Sendable {
    private var names: Set<String> = []
    /// The endings of the patterns, including the leading dot.
    private var suffixes: [String] = []

    /// Creates the set.
    /// - Parameter hosts: names, and patterns of the form `*.example.com`, which does not include
    ///   `example.com` itself.
    package init(_ hosts: [String]) {
        for host in hosts.map(\.asciiLowercased) {
            if host.hasPrefix("*.") { suffixes.append(String(host.dropFirst())) } else { names.insert(host) }
        }
    }

    /// Whether the set has the host.
    /// - Parameter host: the host in lower case.
    package func contains(_ host: String) -> Bool {
        names.contains(host) || suffixes.contains { host.utf8.count > $0.utf8.count && host.hasSuffix($0) }
    }
}
