import Spool
import SpoolCore

/// The flags that say how much the store keeps, and what goes first.
enum LimitFlags {
    static let quota = Flag(
        "quota", takes: "BYTES", environment: "SPOOL_QUOTA",
        help: "The most that stored media may occupy on disk, 8G by default, or 'none'.")
    static let maximumAge = Flag(
        "max-age", takes: "TIME", environment: "SPOOL_MAX_AGE",
        help: "What nobody used for so long goes, for example 30d, 12h or 90m; 'none' by default.")
    static let maximumCount = Flag(
        "max-count", takes: "N", environment: "SPOOL_MAX_COUNT", help: "The most resources that are kept; 'none' by default.")
    static let minimumFree = Flag(
        "min-free", takes: "BYTES", environment: "SPOOL_MIN_FREE",
        help: "What is left to others on the disk of the store, 256M by default, or 'none'.")
    static let evict = Flag(
        "evict", takes: "POLICY", environment: "SPOOL_EVICT",
        help:
            "What goes first: 'lru', what was unused longest (the default); 'largest', by size times idle time; or 'keep-heads' or"
            + " 'keep-heads=BYTES', where the beginnings stay as long as anything else can go.")

    static let maximumResource = Flag(
        "max-resource", takes: "BYTES", environment: "SPOOL_MAX_RESOURCE",
        help: "What is larger is passed on and not stored; 'none' by default.")

    static let all = [quota, maximumAge, maximumCount, minimumFree, evict]

    /// Sets what is given; 0 is refused, since nothing could be stored.
    static func read(_ arguments: Arguments, into limits: inout StorageLimits) throws(UsageError) {
        let size = "a size above 0, for example 10G, or none"
        if let limit = try arguments.value(quota, expected: size, { Limit($0, ByteCount.parse) }) { limits.quotaBytes = limit.value }
        if let limit = try arguments.value(minimumFree, expected: size, { Limit($0, ByteCount.parse) }) {
            limits.minimumFreeBytes = limit.value
        }
        if let limit = try arguments.value(maximumCount, expected: "a number above 0, or none", { Limit($0, Int64.init) }) {
            limits.maximumCount = limit.value.map(Int.init(clamping:))
        }
        if let limit = try arguments.value(maximumAge, expected: "a time above 0, for example 30d, 12h or 90m, or none", age) {
            limits.maximumAge = limit.value.map { .seconds($0) }
        }
        if let policy = try arguments.value(evict, expected: "lru, largest or keep-heads=BYTES", policy) { limits.policy = policy.value }
    }

    /// The most bytes of one resource; nil for no limit.
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
