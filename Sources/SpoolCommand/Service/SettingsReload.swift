import Spool
import SpoolCore

/// The reload of a running server: reads its settings again, and takes over those that can change
/// while it runs.
///
/// All settings are checked before the first one changes. So an error in a file changes nothing.
struct SettingsReload: Sendable {
    /// The arguments that the server started with.
    let started: Arguments
    /// The directory of the store.
    let directory: String?
    let cache: MediaCache
    let log: StandardErrorLog

    /// The flags whose values can change while the server runs.
    private static let live = [CacheSettings.level, CacheSettings.verbose] + LimitFlags.all + DownloadFlags.all

    /// Reads the settings, and returns what came of it.
    func run() -> String {
        do {
            let new = try started.readAgain()
            let settings = try ServeCommand(new).liveSettings(in: directory)
            if let limits = settings.limits { try cache.setLimits(limits) }
            cache.downloads.settings = settings.downloads
            log.level = settings.logLevel
            let report = report(new, settings)
            log.log(.notice, report)
            return report
        } catch {
            let text = (error as? Failure)?.message ?? (error as? CacheError)?.message ?? "\(error)"
            let report = "the settings stay as they are: \(text)"
            log.log(.warning, report)
            return report
        }
    }

    /// Names the settings in effect, and those that wait for a restart.
    private func report(_ new: Arguments, _ settings: LiveSettings) -> String {
        let limits = settings.limitTexts.map { "\($0.name) \($0.value)" }
        let effective = (["the log level is \(settings.logLevel)"] + limits).joined(separator: ", ")
        let names = Set(Self.live.map(\.name))
        let waiting = new.differences(from: started).filter { !names.contains($0) }
        let rest = waiting.isEmpty ? "nothing else differs" : "after a restart only: \(waiting.joined(separator: ", "))"
        return "the settings were read again: \(effective); \(rest)"
    }
}

/// The settings that can change while a server runs.
struct LiveSettings {
    var logLevel: LogLevel
    /// The limits, or nil for a cache without a directory.
    var limits: StorageLimits?
    /// The limits as text, in the order of their flags.
    var limitTexts: [(name: String, value: String)]
    var downloads: DownloadSettings
}
