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
            let text = try arguments.value(flag, expected: rules[flag]?.expected ?? "") { text -> String? in
                var limits = StorageLimits()
                return (takesDefaults && text == StoredLimits.defaultWord) || set(flag, text, in: &limits) ? text : nil
            }
            given[flag.name] = text
        }
        return given
    }

    /// The form of a limit, its default, and the setter for its text, which returns false for
    /// another form.
    private struct Rule {
        let expected: String
        let standard: String
        let set: @Sendable (_ text: String, _ limits: inout StorageLimits) -> Bool

        /// Creates the rule of a limit above 0, or none.
        static func limit(
            _ expected: String, standard: String = "none", _ parse: @escaping @Sendable (String) -> Int64?,
            _ set: @escaping @Sendable (inout StorageLimits, Int64?) -> Void
        ) -> Rule {
            Rule(expected: "\(expected), or none", standard: standard) { text, limits in
                guard let limit = Limit(text, parse) else { return false }
                set(&limits, limit.value)
                return true
            }
        }
    }

    private static let size = "a size above 0, for example 10G"

    private static let rules: [Flag: Rule] = [
        quota: .limit(size, standard: "8G", ByteCount.parse) { $0.quotaBytes = $1 },
        minimumFree: .limit(size, standard: "256M", ByteCount.parse) { $0.minimumFreeBytes = $1 },
        maximumCount: .limit("a number above 0", { Int64($0) }) { $0.maximumCount = $1.map(Int.init(clamping:)) },
        maximumAge: .limit("a time above 0, for example 30d, 12h or 90m", seconds) { $0.maximumAge = $1.map(Duration.seconds) },
        evict: Rule(expected: "lru, largest or keep-heads=BYTES", standard: "lru") { text, limits in
            guard let policy = policy(text) else { return false }
            limits.policy = policy
            return true
        },
    ]

    /// Sets a limit.
    ///
    /// - Returns: False when the text is not a valid limit.
    static func set(_ flag: Flag, _ text: String, in limits: inout StorageLimits) -> Bool { rules[flag]?.set(text, &limits) ?? false }

    /// Returns the default of a limit, for a store that keeps none of its own.
    static func defaultText(_ flag: Flag) -> String { rules[flag]?.standard ?? "none" }

    /// Returns the size in bytes beyond which a resource is not stored, or nil for unlimited.
    static func maximumResourceBytes(_ arguments: Arguments) throws(UsageError) -> Int64? {
        try arguments.value(maximumResource, expected: "a size above 0, for example 4G, or none") { Limit($0, ByteCount.parse) }?.value
    }

    @Sendable private static func seconds(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()) else { return nil }
        let (seconds, overflow) = count.multipliedReportingOverflow(by: unit)
        return overflow ? nil : seconds
    }

    private static func policy(_ text: String) -> (any EvictionPolicy)? {
        switch text {
        case "lru": return LeastRecentlyUsed()
        case "largest": return LargestFirst()
        case "keep-heads": return KeepHeads()
        default:
            guard text.hasPrefix("keep-heads="), let bytes = ByteCount.parse(String(text.dropFirst("keep-heads=".count))), bytes > 0
            else { return nil }
            return KeepHeads(bytes: bytes)
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
}
