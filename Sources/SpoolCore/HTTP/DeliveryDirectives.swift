/// The query items by which an HLS player asks for a special answer (rfc8216bis §6.2.5, §7.4).
package struct DeliveryDirectives: Hashable {
    /// Whether the origin may hold the answer back until a segment exists.
    package private(set) var isBlocking = false
    /// Whether the answer is for this moment or this player only, so that it is not stored.
    package private(set) var isMomentary = false

    /// The items that decide which answer is asked for.
    private var items = ""

    /// Reads the query of a URL.
    package init(url: String) {
        guard let question = url.utf8.firstIndex(of: UInt8(ascii: "?")), url.utf8[question...].contains(UInt8(ascii: "_")) else { return }
        for item in url[question...].dropFirst().split(separator: "&") where item.hasPrefix("_HLS_") {
            switch item.prefix(while: { $0 != "=" }) {
            case "_HLS_msn", "_HLS_part": (isBlocking, isMomentary) = (true, true)
            case "_HLS_skip", "_HLS_pathway", "_HLS_throughput": isMomentary = true
            default: continue
            }
            items += items.isEmpty ? item : "&\(item)"
        }
    }

    /// Returns `key`, or a key of its own for an answer that differs, where the rules for keys drop
    /// the query.
    package func key(_ key: ResourceKey) -> ResourceKey {
        guard isMomentary, !key.string.contains("_HLS_") else { return key }
        return ResourceKey(normalized: "\(key.string) with \(items)")
    }
}
