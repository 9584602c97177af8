import Spool
import SpoolOrigin

/// The flag for how long origins may prepare their answers.
enum PatienceSettings {
    static let patience = Flag(
        "patience", takes: "[HOST=]TIME",
        help:
            "How long an origin may take until the head of its answer while a player waits; 60s by default, or 90s and 2m, for example."
            + " With HOST= for one host; may be repeated."
    ).repeatable

    /// Sets the patience of the configuration.
    static func apply(_ arguments: Arguments, to configuration: inout Configuration) throws(UsageError) {
        for text in arguments.all(patience) {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let time = parts.last.flatMap({ TimeText.parse($0, within: 1...3600) }),
                parts.count == 1 || !(parts[0].isEmpty || parts[0].contains("/"))
            else {
                throw arguments.invalid(patience, "can't be '\(text)'; it is a time from 1s to 1h, such as 90s, or HOST=90s")
            }
            if parts.count == 1 {
                configuration.network.patience.head = .nanoseconds(time)
            } else {
                configuration.network.patienceForHosts[parts[0].lowercased(), default: configuration.network.patience].head = .nanoseconds(
                    time)
            }
        }
    }
}
