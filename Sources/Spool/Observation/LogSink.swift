public import SpoolCore

/// Receives log lines for people. The cache calls it on any thread, outside every lock, and the
/// sink must not block.
///
/// Lines contain URLs without query and user information.
public protocol LogSink: Sendable {
    /// The lowest level that the sink receives. The cache does not build lines below it.
    var level: LogLevel { get }
    /// Writes one line.
    func log(_ level: LogLevel, _ message: String)
}

/// Turns events into log lines.
struct EventLogger: EventSink {
    let log: any LogSink

    func record(_ event: CacheEvent) {
        let level = Self.level(of: event)
        // The line is built only if the sink receives its level, because this code runs for every
        // write.
        guard level >= log.level else { return }
        log.log(level, Self.message(of: event))
    }

    /// The level of the events of readers.
    static let readersLevel = LogLevel.trace

    private static func level(of event: CacheEvent) -> LogLevel {
        switch event {
        case .readerJoined: readersLevel
        case .bytesCommitted, .fetchMeasured: .trace
        // `OriginOutages` has the lines of origins that fail. Evictions come by the block.
        case .fetchStarted, .fetchEnded, .evicted: .debug
        case .representationReplaced, .gone, .removed, .becameWriter, .networkPermitted: .info
        case .degradedToPassthrough, .usedUnvalidated, .networkRefused: .notice
        case .damageFound, .storeTrouble, .storeRests, .bypassChanged: .warning
        case .tier(let event): event.level
        }
    }

    private static func message(of event: CacheEvent) -> String {
        switch event {
        case .readerJoined(let key, let start, let end):
            "reader of \(key.forLog) wants \(start)..<\(end.map(String.init) ?? "end")"
        case .fetchStarted(let key, let lower, let upper):
            "leased gap \(lower)..<\(upper.map(String.init) ?? "end") of \(key.forLog)"
        case .fetchEnded(let key, let bytes, let reason):
            "fetch of \(key.forLog) brought \(bytes) bytes\(reason.map { ": \($0)" } ?? "")"
        case .fetchMeasured(let key, let timings, let retries):
            "fetch of \(key.forLog) took \(timings)\(retries > 0 ? ", after \(retries) that failed" : "")"
        case .bytesCommitted(let key, let bytes):
            "committed \(bytes) bytes of \(key.forLog)"
        case .representationReplaced(let key, let old, let new):
            "\(key.forLog) changed at its origin: \(old) is retired, \(new) begins"
        case .degradedToPassthrough(let key, let reason):
            "\(key.forLog) is passed on without being stored: \(reason)"
        case .damageFound(let key, let bytes):
            "\(bytes) stored bytes of \(key.forLog) are damaged: they are a gap again"
        case .usedUnvalidated(let key, let reason):
            "\(key.forLog) was served from the store unconfirmed; the origin could not confirm it: \(reason)"
        case .networkRefused(let key, let reason):
            "a fetch of \(key.forLog) waits: \(reason)"
        case .networkPermitted(let key):
            "a fetch of \(key.forLog) goes on: the network is permitted again"
        case .gone(let key, let generation):
            "\(key.forLog) is gone at its origin: \(generation) is retired"
        case .evicted(let key, let bytes, let cause):
            "evicted \(key.forLog), \(bytes) bytes: \(cause)"
        case .becameWriter:
            "the process that had the store has ended: fetched bytes are stored from now on"
        case .removed(let key):
            "removed \(key.forLog)"
        case .storeRests(let seconds):
            "the store failed repeatedly: Spool stores nothing for \(seconds) seconds"
        case .bypassChanged(let isBypassed, let reason):
            isBypassed ? "players load originals by themselves: \(reason)" : "players come through the cache again: \(reason)"
        case .tier(let event):
            event.sentence
        case .storeTrouble(let what):
            "store: \(what)"
        }
    }
}
