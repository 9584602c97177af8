/// How a URL becomes the identity of a resource.
///
/// The default takes the URL as it is, in normal form (see `ResourceKey.init(url:)`; docs/keys.md has the table).
/// Rules are added where several URLs mean the same bytes:
///
///     let policy = KeyPolicy()
///         .dropQueryItems(named: ["Expires", "Signature"], forHosts: ["cdn.example.com"])
///         .sameHosts(["cdn.example.com", "*.cdn.example.com"])
///
/// A host is written as in a URL, without port, or as `*.example.com` for every name below `example.com`.
/// Rules only shape the key. The origin is always asked by the URL that was given last.
/// A value, safe to share.
public struct KeyPolicy: Hashable, Sendable {
    private struct DroppedItems: Hashable, Sendable {
        /// Nil for all items.
        var names: Set<String>?
        /// Nil for every host.
        var hosts: HostSet?
    }

    private struct HostMap: Hashable, Sendable {
        var hosts: HostSet
        var target: String
    }

    private var dropped: [DroppedItems] = []
    private var maps: [HostMap] = []

    /// The default policy.
    public init() {}

    /// The policy that also leaves the query items of these names out of the key: signatures, times, session numbers.
    ///
    /// Names compare byte by byte, percent-encoding untouched. The order of the other items stays.
    /// - Parameter hosts: the hosts of the URLs that the rule is for, before any mapping; nil for all.
    public func dropQueryItems(named names: some Sequence<String>, forHosts hosts: [String]? = nil) -> KeyPolicy {
        adding(DroppedItems(names: Set(names), hosts: hosts.map { HostSet($0) }))
    }

    /// The policy that also leaves the whole query out of the key, where it only says who asks and until when.
    ///
    /// - Parameter hosts: the hosts of the URLs that the rule is for, before any mapping; nil for all.
    public func dropAllQueryItems(forHosts hosts: [String]? = nil) -> KeyPolicy {
        adding(DroppedItems(names: nil, hosts: hosts.map { HostSet($0) }))
    }

    private func adding(_ rule: DroppedItems) -> KeyPolicy {
        var policy = self
        policy.dropped.append(rule)
        return policy
    }

    /// The policy that also puts the host on the right in the key where the URL has the one on the left: mirrors of one content.
    ///
    /// Hosts are given without port, which stays. A host is mapped once; a later rule for the same host replaces an earlier one.
    public func mapHosts(_ map: [String: String]) -> KeyPolicy {
        var policy = self
        for (from, to) in map.sorted(by: { $0.key < $1.key }) {
            policy.maps.append(HostMap(hosts: HostSet([from]), target: to.asciiLowercased))
        }
        return policy
    }

    /// The policy that also takes these hosts for one: the servers of a CDN that all have the same content under the same paths.
    ///
    /// The key has the first of them, which is a plain name and no pattern.
    public func sameHosts(_ hosts: [String]) -> KeyPolicy {
        guard let first = hosts.first else { return self }
        var policy = self
        policy.maps.append(HostMap(hosts: HostSet(hosts), target: first.asciiLowercased))
        return policy
    }

    /// The key of a URL.
    /// - Throws: `ParseError` for anything but an absolute `http` or `https` URL with a host.
    public func key(for url: String) throws(ParseError) -> ResourceKey {
        var parts = try KeyableURL(url)
        let host = parts.origin.host
        for rule in dropped where rule.hosts?.contains(host) ?? true {
            parts.query = parts.query.flatMap { Self.query($0, without: rule.names) }
        }
        if let map = maps.last(where: { $0.hosts.contains(host) }) {
            parts.origin = URIReference.Origin(scheme: parts.origin.scheme, host: map.target, port: parts.origin.port)
        }
        return ResourceKey(parts)
    }

    /// The query without the items of these names; nil when none is left, and unchanged when none is dropped.
    private static func query(_ query: String, without names: Set<String>?) -> String? {
        guard let names else { return nil }
        let items = query.split(separator: "&", omittingEmptySubsequences: false)
        let kept = items.filter { !names.contains(String($0.prefix { $0 != "=" })) }
        if kept.count == items.count { return query }
        return kept.isEmpty ? nil : kept.joined(separator: "&")
    }
}

/// Hosts by name, and by the domain that they lie below.
package struct HostSet: Hashable, Sendable {
    private var names: Set<String> = []
    /// What a name of a pattern ends with, the dot included.
    private var suffixes: [String] = []

    /// - Parameter hosts: names, and patterns of the form `*.example.com`, which does not mean `example.com` itself.
    package init(_ hosts: [String]) {
        for host in hosts.map(\.asciiLowercased) {
            if host.hasPrefix("*.") { suffixes.append(String(host.dropFirst())) } else { names.insert(host) }
        }
    }

    /// - Parameter host: in lower case.
    package func contains(_ host: String) -> Bool {
        names.contains(host) || suffixes.contains { host.utf8.count > $0.utf8.count && host.hasSuffix($0) }
    }
}
