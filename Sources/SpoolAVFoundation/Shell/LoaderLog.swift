package import Spool
package import SpoolCore

/// The lines that a loader writes for people; the URL stands in them without its query.
package struct LoaderLog: Sendable {
    private let sink: (any LogSink)?
    private let name: String

    package init(_ sink: (any LogSink)?, key: ResourceKey) {
        self.sink = sink
        name = String(key.string.prefix { $0 != "?" })
    }

    package func trace(_ words: @autoclosure () -> String) {
        log(.trace, words())
    }

    package func failed(_ error: CacheError) {
        log(.warning, "can't be loaded: \(error.code): \(error.message)")
    }

    package func fellBack(_ reason: FallbackReason) {
        log(.info, "is left to the player: \(reason.words)")
    }

    /// Makes the line only where the sink takes lines of this level.
    private func log(_ level: LogLevel, _ words: @autoclosure () -> String) {
        guard let sink, level >= sink.level else { return }
        sink.log(level, "\(name) \(words())")
    }
}
