import Spool

/// The flags of a server that runs the list of downloads.
enum DownloadFlags {
    static let jobs = Flag(
        "download-jobs", takes: "N", environment: "SPOOL_DOWNLOAD_JOBS",
        help: "The most downloads that run at the same time, from 1 to 64; 2 by default. See 'spool download'.")
    static let rate = Flag(
        "download-rate", takes: "SIZE", environment: "SPOOL_DOWNLOAD_RATE",
        help: "The most bytes that all downloads together fetch in a second, such as 2M; no limit by default.")
    static let room = Flag(
        "download-room", takes: "SIZE|none", environment: "SPOOL_DOWNLOAD_ROOM",
        help: "The most bytes that all downloads together may occupy, outside the quota, or 'none' for no limit but the disk; 32G by"
            + " default.")

    static let all = [jobs, rate, room]

    static func settings(_ arguments: Arguments) throws(UsageError) -> DownloadSettings {
        var settings = DownloadSettings()
        if let count = try arguments.number(jobs, in: 1...64) { settings.maximumRunning = count }
        if let bytes = try arguments.value(rate, expected: "a size such as 2M", { ByteCount.parse($0).flatMap { $0 > 0 ? $0 : nil } }) {
            settings.bytesPerSecond = bytes
        }
        if arguments[room] == "none" {
            settings.allowanceBytes = nil
        } else if let bytes = try arguments.value(room, expected: "a size such as 100G, or 'none'", ByteCount.parse) {
            settings.allowanceBytes = bytes
        }
        return settings
    }
}
