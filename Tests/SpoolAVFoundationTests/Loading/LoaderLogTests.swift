import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import Testing

/// The log lines of a loader, none of them below the level of the app's log.
struct LoaderLogTests {
    private final class Lines: LogSink {
        let level: LogLevel
        let levels = Locked<[LogLevel]>([])

        init(level: LogLevel) { self.level = level }

        func log(_ level: LogLevel, _ message: String) { levels.withLock { $0.append(level) } }
    }

    @Test(arguments: LogLevel.allCases)
    func `a loader builds no line below the level of the log`(level: LogLevel) {
        let lines = Lines(level: level)
        let log = LoaderLog(lines, key: ResourceKey(normalized: "http://cdn.test/a.mp3?signature=secret"))
        var made = 0
        func words() -> String {
            made += 1
            return "was asked for bytes"
        }
        log.trace(words())
        log.fellBack(.playlist)
        log.failed(CacheError(.closed, "the cache is closed"))
        #expect(lines.levels.withLock { $0 } == [LogLevel.trace, .info, .warning].filter { $0 >= level })
        #expect(made == (level == .trace ? 1 : 0), "a line below the level is not built")
    }
}
