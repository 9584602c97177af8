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

    func trace(_ words: @autoclosure () -> String) {
        sink?.log(.trace, "\(name) \(words())")
    }

    func failed(_ error: CacheError) {
        sink?.log(.warning, "\(name) can't be loaded: \(error.code): \(error.message)")
    }

    func fellBack(_ reason: FallbackReason) {
        sink?.log(.info, "\(name) is left to the player: \(reason.words)")
    }
}
