import Spool
import SpoolCore
import SpoolManifests

// The commands on the list of downloads.

extension AdminAPI {
    /// The verbs of `spool download`.
    static let downloadVerbs: [String: Verb] = [
        "download-add": { cache, _, query, answer in
            guard let url = query["url"] else { return answer(.failed(status: 400, "url= is missing")) }
            change(answer) { () throws(CacheError) in
                let priority = query.number("priority").flatMap { Int(exactly: $0) }
                let selection = PresentationSelection(
                    quality: query["quality"], audio: query["audio"], subtitles: query["subtitles"])
                try await cache.downloads.add(
                    url, selection: selection, key: query.key, group: query["group"] ?? "", priority: priority ?? 0)
                return true
            }
        },
        "download-pause": { cache, _, query, answer in
            changeNamed(query, answer) { (key) throws(CacheError) in try await cache.downloads.pause(key) }
        },
        "download-resume": { cache, _, query, answer in
            changeNamed(query, answer) { (key) throws(CacheError) in try await cache.downloads.resume(key) }
        },
        "download-remove": { cache, _, query, answer in
            changeNamed(query, answer) { (key) throws(CacheError) in
                try await cache.downloads.remove(key, keepingBytes: query["keep"] == "1")
            }
        },
        "download-order": { cache, _, query, answer in
            changeNamed(query, answer) { (key) throws(CacheError) in
                var hasChanged = false
                if let priority = query.number("priority").flatMap({ Int(exactly: $0) }) {
                    hasChanged = try await cache.downloads.setPriority(priority, of: key)
                }
                switch query["place"] {
                case "first": return try await cache.downloads.move(key, to: .first) || hasChanged
                case "last": return try await cache.downloads.move(key, to: .last) || hasChanged
                default: return hasChanged
                }
            }
        },
        "downloads": { cache, _, query, answer in
            reply(answer) { () throws(CacheError) in
                let (list, room) = (try await cache.downloads.list(), try await cache.downloads.room())
                return page(of: list, from: query.number("from") ?? 0, room)
            }
        },
    ]

    /// The most entries of the list in one answer, and the bytes of their texts after which an answer
    /// ends. Clients read answers of up to 1 MiB.
    private static let pageCount = 500
    private static let pageBytes = 128 << 10

    private static func page(of list: [Download], from first: Int64, _ room: DownloadRoom) -> Answer {
        let start = Int(clamping: max(0, min(first, Int64(list.count))))
        var (end, bytes) = (start, 0)
        while end < list.count, end - start < pageCount, bytes < pageBytes {
            let download = list[end]
            bytes += [download.url, download.key.string, download.group, reason(for: download) ?? ""].reduce(0) { $0 + $1.utf8.count }
            end += 1
        }
        return .object([
            ("downloads", .array(list[start..<end].map(object))), ("next", end < list.count ? .integer(Int64(end)) : .null),
            ("usedBytes", .integer(room.usedBytes)), ("allowanceBytes", room.allowanceBytes.map { .integer($0) } ?? .null),
        ])
    }

    private static func reason(for download: Download) -> String? { download.state.reason ?? download.lastError }

    private static func object(_ download: Download) -> JSON {
        .object([
            ("key", .string(download.key.string)), ("url", .string(download.url)), ("group", .string(download.group)),
            ("priority", .integer(Int64(download.priority))), ("state", .string(download.state.name)),
            ("reason", reason(for: download).map { .string($0) } ?? .null),
            ("doneBytes", .integer(download.doneBytes)), ("totalBytes", download.totalBytes.map { .integer($0) } ?? .null),
        ])
    }

    private static func changeNamed(
        _ query: Query, _ answer: @escaping @Sendable (Answer) -> Void,
        _ body: @escaping @Sendable (ResourceKey) async throws(CacheError) -> Bool
    ) {
        guard let key = query.key else { return answer(.failed(status: 400, "key= is missing")) }
        change(answer) { () throws(CacheError) in try await body(key) }
    }

    private static func change(
        _ answer: @escaping @Sendable (Answer) -> Void, _ body: @escaping @Sendable () async throws(CacheError) -> Bool
    ) {
        reply(answer) { () throws(CacheError) in .object([("changed", .integer(try await body() ? 1 : 0))]) }
    }

    /// Answers with the result of `body`. The list of downloads has an asynchronous interface only.
    private static func reply(
        _ answer: @escaping @Sendable (Answer) -> Void, _ body: @escaping @Sendable () async throws(CacheError) -> Answer
    ) {
        Task {
            do throws(CacheError) { answer(try await body()) } catch { answer(Answer(error)) }
        }
    }
}
