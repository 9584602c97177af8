package import Spool
package import SpoolCore

/// The log lines of a loader. They contain the URL without its query.
package struct LoaderLog: Sendable {
    private let sink: (any LogSink)?
    private let name: String

    /// Creates a log for one resource.
    package init(_ sink: (any LogSink)?, key: ResourceKey) {
        self.sink = sink
        name = String(key.string.prefix { $0 != "?" })
    }

    /// Logs a detail at the trace level.
    package func trace(_ words: @autoclosure () -> String) {
        log(.trace, words())
    }

    /// Logs an error as a warning.
    package func failed(_ error: CacheError) {
        log(.warning, "can't be loaded: \(error.code): \(error.message)")
    }

    /// Logs that the player was sent to the original URL.
    package func fellBack(_ reason: FallbackReason) {
        log(.info, "is left to the player: \(reason.words)")
    }

    /// Makes the line only when the sink takes lines of this level.
    private func log(_ level: LogLevel, _ words: @autoclosure () -> String) {
        guard let sink, level >= sink.level else { return }
        sink.log(level, "\(name) \(words())")
    }
}
