import Spool
import SpoolCore

/// The flags for the limits of a store and for its eviction policy.
enum LimitFlags {
    static let quota = Flag(
        "quota", takes: "BYTES", environment: "SPOOL_QUOTA",
        help:
            "The most that stored media may occupy on disk, 8G by default, or 'none'. 'serve' and 'limits' keep a limit in the store.")
    static let maximumAge = Flag(
        "max-age", takes: "TIME", environment: "SPOOL_MAX_AGE",
        help: "Remove resources unused for this long, for example 30d, 12h or 90m; 'none' by default.")
    static let maximumCount = Flag(
        "max-count", takes: "N", environment: "SPOOL_MAX_COUNT", help: "The most resources that are kept; 'none' by default.")
    static let minimumFree = Flag(
        "min-free", takes: "BYTES", environment: "SPOOL_MIN_FREE",
        help: "Keep this much of the store's disk free, 256M by default, or 'none'.")
    static let evict = Flag(
        "evict", takes: "POLICY", environment: "SPOOL_EVICT", words: ["lru", "largest", "keep-heads", "keep-heads="],
        help:
            "The order of eviction: 'lru', the longest unused first (the default); 'largest', by size times idle time; or 'keep-heads' or"
            + " 'keep-heads=BYTES', which keeps the beginnings as long as other bytes can be removed.")

    static let maximumResource = Flag(
        "max-resource", takes: "BYTES", environment: "SPOOL_MAX_RESOURCE",
        help: "Do not store resources larger than this; 'none' by default.")

    static let all = [quota, maximumAge, maximumCount, minimumFree, evict]

    /// Returns the given limits, as text by the names of the flags. Refuses invalid values, and 0,
    /// because a store with such a limit could store nothing.
    ///
    /// - Parameters:
    ///   - isExplicit: Whether to read the command line only, without the environment.
    ///   - takesDefaults: Whether a value may be `default`.
    static func given(_ arguments: Arguments, isExplicit: Bool, takesDefaults: Bool = false) throws(UsageError) -> [String: String] {
        var given: [String: String] = [:]
        for flag in all where isExplicit ? arguments.isGiven(flag) : arguments.has(flag) {
            let text = try arguments.value(flag, expected: expected(flag)) { text -> String? in
                var limits = StorageLimits()
                return (takesDefaults && text == StoredLimits.defaultWord) || set(flag, text, in: &limits) ? text : nil
            }
            given[flag.name] = text
        }
        return given
    }

    /// Sets a limit.
    ///
    /// - Returns: False when the text is not a valid limit.
    static func set(_ flag: Flag, _ text: String, in limits: inout StorageLimits) -> Bool {
        switch flag.name {
        case quota.name:
            guard let limit = Limit(text, ByteCount.parse) else { return false }
            limits.quotaBytes = limit.value
        case minimumFree.name:
            guard let limit = Limit(text, ByteCount.parse) else { return false }
            limits.minimumFreeBytes = limit.value
        case maximumCount.name:
            guard let limit = Limit(text, { Int64($0) }) else { return false }
            limits.maximumCount = limit.value.map(Int.init(clamping:))
        case maximumAge.name:
            guard let limit = age(text) else { return false }
            limits.maximumAge = limit.value.map { .seconds($0) }
        case evict.name:
            guard let choice = policy(text) else { return false }
            limits.policy = choice.value
        default: return false
        }
        return true
    }

    private static func expected(_ flag: Flag) -> String {
        switch flag.name {
        case maximumCount.name: "a number above 0, or none"
        case maximumAge.name: "a time above 0, for example 30d, 12h or 90m, or none"
        case evict.name: "lru, largest or keep-heads=BYTES"
        default: "a size above 0, for example 10G, or none"
        }
    }

    /// Returns the default of a limit, for a store that keeps none of its own.
    static func defaultText(_ flag: Flag) -> String {
        switch flag.name {
        case quota.name: "8G"
        case minimumFree.name: "256M"
        case evict.name: "lru"
        default: "none"
        }
    }

    /// Returns the size in bytes beyond which a resource is not stored, or nil for unlimited.
    static func maximumResourceBytes(_ arguments: Arguments) throws(UsageError) -> Int64? {
        try arguments.value(maximumResource, expected: "a size above 0, for example 4G, or none") { Limit($0, ByteCount.parse) }?.value
    }

    private static func age(_ text: String) -> Limit? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        return Limit(text) { text in
            guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()) else { return nil }
            let (seconds, overflow) = count.multipliedReportingOverflow(by: unit)
            return overflow ? nil : seconds
        }
    }

    private static func policy(_ text: String) -> Choice? {
        switch text {
        case "lru": return Choice(value: LeastRecentlyUsed())
        case "largest": return Choice(value: LargestFirst())
        case "keep-heads": return Choice(value: KeepHeads())
        default:
            guard text.hasPrefix("keep-heads="), let bytes = ByteCount.parse(String(text.dropFirst("keep-heads=".count))), bytes > 0
            else { return nil }
            return Choice(value: KeepHeads(bytes: bytes))
        }
    }

    /// A limit above 0, or none.
    private struct Limit {
        var value: Int64?

        init?(_ text: String, _ parse: (String) -> Int64?) {
            if text == "none" { return }
            guard let value = parse(text), value > 0 else { return nil }
            self.value = value
        }
    }

    private struct Choice {
        var value: any EvictionPolicy
    }
}
