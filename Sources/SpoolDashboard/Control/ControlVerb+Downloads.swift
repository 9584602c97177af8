package import Spool
import SpoolCore
package import SpoolJSON
import SpoolManifests

// The commands on the list of downloads, which has an asynchronous interface only.

extension ControlVerb {
    static let downloads: [String: ControlVerb] = [
        "download-add": ControlVerb(
            [.program], ["url", "key", "group", "priority", "quality", "audio", "subtitles"]
        ) { control, query, done in
            guard let url = query["url"] else { return done(.refused(.invalidQuery, "url= is missing")) }
            changing(done) { () throws(CacheError) in
                let selection = PresentationSelection(quality: query["quality"], audio: query["audio"], subtitles: query["subtitles"])
                try await control.cache.downloads.add(
                    url, selection: selection, key: query.key, group: query["group"] ?? "", priority: query.priority ?? 0)
                return true
            }
        },
        "download-pause": ControlVerb(onKey: [.program, .page]) { control, key, _, done in
            changing(done) { () throws(CacheError) in try await control.cache.downloads.pause(key) }
        },
        "download-resume": ControlVerb(onKey: [.program, .page]) { control, key, _, done in
            changing(done) { () throws(CacheError) in try await control.cache.downloads.resume(key) }
        },
        "download-remove": ControlVerb(onKey: [.program], ["keep"]) { control, key, query, done in
            changing(done) { () throws(CacheError) in try await control.cache.downloads.remove(key, keepingBytes: query["keep"] == "1") }
        },
        "download-order": ControlVerb(onKey: [.program], ["priority", "place"]) { control, key, query, done in
            changing(done) { () throws(CacheError) in
                let downloads = control.cache.downloads
                var hasChanged = false
                if let priority = query.priority { hasChanged = try await downloads.setPriority(priority, of: key) }
                switch query["place"] {
                case "first": return try await downloads.move(key, to: .first) || hasChanged
                case "last": return try await downloads.move(key, to: .last) || hasChanged
                default: return hasChanged
                }
            }
        },
        "downloads": ControlVerb([.program, .page], ["from"], isDocumented: true) { control, query, done in
            answering(done) { () throws(CacheError) in
                let (list, room) = (try await control.cache.downloads.list(), try await control.cache.downloads.room())
                return DownloadReport.window(of: list, from: query.number("from") ?? 0, room)
            }
        },
    ]

    private static func changing(_ done: @escaping Done, _ body: @escaping @Sendable () async throws(CacheError) -> Bool) {
        answering(done) { () throws(CacheError) in [("changed", .bool(try await body()))] }
    }

    /// Passes the members that an asynchronous body returns to `done`.
    static func answering(_ done: @escaping Done, _ body: @escaping @Sendable () async throws(CacheError) -> [(String, JSON)]) {
        LaneTasks.begin {
            do throws(CacheError) { done(.object(try await body())) } catch { done(ControlAnswer(error)) }
        }
    }
}

extension Query {
    fileprivate var priority: Int? { number("priority").flatMap { Int(exactly: $0) } }
}

/// The list of downloads as JSON.
package enum DownloadReport {
    /// The most entries of the list in one answer, and the bytes of their texts after which an answer
    /// ends. Clients read answers of up to 1 MiB.
    private static let windowCount = 500
    private static let windowBytes = 128 << 10

    /// Returns the members of an answer with a window of the list.
    fileprivate static func window(of list: [Download], from first: Int64, _ room: DownloadRoom) -> [(String, JSON)] {
        let start = Int(clamping: max(0, min(first, Int64(list.count))))
        var (end, bytes) = (start, 0)
        while end < list.count, end - start < windowCount, bytes < windowBytes {
            let download = list[end]
            bytes += [download.url, download.key.string, download.group, reason(for: download) ?? ""].reduce(0) { $0 + $1.utf8.count }
            end += 1
        }
        return [
            ("downloads", .array(list[start..<end].map(json))), ("next", end < list.count ? .integer(Int64(end)) : .null),
            ("usedBytes", .integer(room.usedBytes)), ("allowanceBytes", JSON(room.allowanceBytes)),
        ]
    }

    private static func reason(for download: Download) -> String? { download.state.reason ?? download.lastError }

    /// Returns an entry as one object, as `spool download ls --json` prints it.
    package static func json(_ download: Download) -> JSON {
        .object([
            ("key", .string(download.key.string)), ("url", .string(download.url)), ("group", .string(download.group)),
            ("priority", .integer(Int64(download.priority))), ("state", .string(download.state.name)),
            ("reason", JSON(reason(for: download))), ("doneBytes", .integer(download.doneBytes)), ("totalBytes", JSON(download.totalBytes)),
        ])
    }
}
