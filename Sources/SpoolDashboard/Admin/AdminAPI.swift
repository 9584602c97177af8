import Spool
import SpoolCore
import SpoolProxy
import SpoolServer
import SpoolSystem

/// The commands of a running server: `POST /_spool/api/<verb>?<query>`, answered with JSON.
///
/// The API serves programs of the same user on the same machine. Three checks enforce that. The
/// token is in a file that only those programs can read (`serve.json`). The client's address must
/// be loopback. Requests with fields that browsers send are refused: a page cannot read the file,
/// and its requests name their site.
///
/// To add a verb, add an entry to `verbs`. Those of the list of downloads are in `downloadVerbs`.
struct AdminAPI: Sendable {
    /// Runs a command with the cache, the long commands under way and the query. Answers once, on
    /// any thread.
    typealias Verb = @Sendable (MediaCache, AdminJobs, Query, @escaping @Sendable (Answer) -> Void) -> Void

    enum Answer: Sendable {
        /// A JSON text.
        case json([UInt8])
        case failed(status: Int, String)

        static func object(_ members: [(String, JSON)]) -> Answer { .json(JSON.object(members).bytes) }

        init(_ error: CacheError) { self = .failed(status: error.statusForClient, error.message) }
    }

    static let verbs: [String: Verb] = [
        "remove": { cache, _, query, answer in
            guard let key = query.key else { return answer(.failed(status: 400, "key= is missing")) }
            remove(key, from: cache, answer)
        },
        "pin": { cache, _, query, answer in setPinned(true, query, cache, answer) },
        "unpin": { cache, _, query, answer in setPinned(false, query, cache, answer) },
        "not-stored": { cache, _, query, answer in
            guard let key = query.key else { return answer(.failed(status: 400, "key= is missing")) }
            cache.status(of: key) { result in
                switch result {
                case .success(let status): answer(.object([("because", .string(status?.notStoredBecause ?? ""))]))
                case .failure(let error): answer(Answer(error))
                }
            }
        },
        "enter-received": { cache, _, _, answer in
            cache.enterReceived { result in
                switch result {
                case .success: answer(.object([("entered", .integer(1))]))
                case .failure(let error): answer(Answer(error))
                }
            }
        },
        "remove-all": { cache, _, _, answer in removeAll(from: cache, answer) },
        "import": { cache, jobs, query, answer in importFile(query, cache, jobs, answer) },
        "adopt": { cache, jobs, query, answer in adopt(query, cache, jobs, answer) },
        "repair": { cache, jobs, query, answer in repair(query, cache, jobs, answer) },
        "job": { _, jobs, query, answer in
            guard let id = query.number("id") else { return answer(.failed(status: 400, "id= is missing")) }
            jobs.wait(for: id, beyond: query.number("after") ?? 0, answer)
        },
        "cancel": { _, jobs, query, answer in
            guard let id = query.number("id") else { return answer(.failed(status: 400, "id= is missing")) }
            answer(.object([("cancelled", .integer(jobs.cancel(id) ? 1 : 0))]))
        },
    ]

    /// The command that makes a login link for a browser.
    static let login = "login"
    /// The command that returns the advice for an operator whose clients come through a proxy.
    static let advice = "advice"
    /// The first part of every path here.
    static let path = "api/"
    /// The longest query that is read, in bytes. The head of a request has its own bound.
    private static let queryLimitBytes = 16 << 10

    private let cache: MediaCache
    private let token: String
    private let notices: NoticeBoard
    /// The long commands under way, as jobs that the caller can poll and stop.
    private let jobs = AdminJobs()
    private let actions: PageActions?
    /// Called after each command, because it may have changed resources.
    private let changed: @Sendable () -> Void

    init(
        cache: MediaCache, token: String, notices: NoticeBoard, actions: PageActions?, changed: @escaping @Sendable () -> Void
    ) {
        self.notices = notices
        self.changed = changed
        self.cache = cache
        self.token = token
        self.actions = actions
    }

    /// Answers a request for `path` (the part behind `/_spool/`). On the loop only.
    ///
    /// - Precondition: The `Host` of the request is this proxy.
    func respond(to request: RequestHead, path: String, on exchange: Exchange) {
        if let refusal = refusal(of: request, exchange) { return exchange.respond(.error(403, refusal)) }
        let name = path.prefix { $0 != "?" }
        if name == Self.path + Self.login {
            guard let actions else {
                return exchange.respond(
                    .error(403, "with --origin, the site's pages share the address of the status page, so the page takes no actions"))
            }
            return exchange.respond(Self.response(.object([("link", .string(actions.makeLink()))])))
        }
        if name == Self.path + Self.advice {
            let advice = notices.entries.contains { $0.notice.because == Strangers.advice } ? Strangers.advice : ""
            return exchange.respond(Self.response(.object([("advice", .string(advice))])))
        }
        guard path.utf8.count <= Self.queryLimitBytes, name.hasPrefix(Self.path),
            let verb = Self.verb(named: String(name.dropFirst(Self.path.count)))
        else {
            return exchange.respond(.error(404, "there is no command '/_spool/\(name)'"))
        }
        let reply = LoopConfined(exchange)
        let loop = exchange.loop
        verb(cache, jobs, Query(path.dropFirst(name.count + 1))) { [changed] answer in
            changed()
            loop.post { reply.value.respond(Self.response(answer)) }
        }
    }

    private static func verb(named name: String) -> Verb? { verbs[name] ?? downloadVerbs[name] }

    private func refusal(of request: RequestHead, _ exchange: Exchange) -> String? {
        guard exchange.isFromThisMachine else { return "commands are taken from this machine only" }
        if request.has(.origin) || request.has(.secFetchSite) || request.has(.referer) {
            return "commands are not taken from browsers"
        }
        guard let given = request[.authorization], constantTimeEqual(given, "Bearer \(token)") else {
            return "the token is that of another server; see serve.json in the store's directory"
        }
        return nil
    }

    private static func response(_ answer: Answer) -> Response {
        switch answer {
        case .json(let bytes):
            Response(200, fields: JSON.fields, body: .bytes(bytes))
        case .failed(let status, let message): .error(status, message)
        }
    }

    // MARK: Verbs

    private static func remove(_ key: ResourceKey, from cache: MediaCache, _ answer: @escaping @Sendable (Answer) -> Void) {
        cache.status(of: key) { status in
            // After an error here the removal fails too, and its error is reported.
            let bytes: Int64 = if case .success(let found?) = status { found.stored.totalBytes } else { 0 }
            cache.remove(key) { result in
                switch result {
                case .success(let existed): answer(.object([("removed", .integer(existed ? 1 : 0)), ("bytes", .integer(bytes))]))
                case .failure(let error): answer(Answer(error))
                }
            }
        }
    }

    private static func setPinned(_ isPinned: Bool, _ query: Query, _ cache: MediaCache, _ answer: @escaping @Sendable (Answer) -> Void) {
        guard let key = query.key else { return answer(.failed(status: 400, "key= is missing")) }
        cache.setPinned(key, isPinned) { result in
            switch result {
            case .success(let changed): answer(.object([("changed", .integer(changed ? 1 : 0))]))
            case .failure(let error): answer(Answer(error))
            }
        }
    }

    private static func importFile(_ query: Query, _ cache: MediaCache, _ jobs: AdminJobs, _ answer: @escaping @Sendable (Answer) -> Void) {
        guard let path = query["path"], path.hasPrefix("/"), let url = query["url"] else {
            return answer(.failed(status: 400, "path= or url= is missing"))
        }
        var options = ImportOptions()
        options.contentType = query["type"]
        if let tag = query["etag"] { options.validator = tag.hasPrefix("W/") ? .weak(entityTag: tag) : .strong(entityTag: tag) }
        options.replacesStored = query["replace"] == "1"
        let (cancellation, key) = (TransferCancellation(), query.key)
        guard let id = jobs.begin(cancel: { cancellation.cancel() }) else { return answer(.tooManyJobs) }
        FileImport.run(path, for: url, key: key, options, in: cache, cancellation, { jobs.moved($0, of: id) }) { result in
            jobs.end(id, result.map { [("bytes", .integer($0.bytes))] })
        }
        answer(.object([("job", .integer(id))]))
    }

    /// The largest number of damaged ranges listed in an answer. Ranges beyond it are repaired and
    /// counted too.
    private static let rangeLimit = 10_000

    private static func repair(_ query: Query, _ cache: MediaCache, _ jobs: AdminJobs, _ answer: @escaping @Sendable (Answer) -> Void) {
        guard let key = query.key else { return answer(.failed(status: 400, "key= is missing")) }
        guard let id = jobs.begin(cancel: {}) else { return answer(.tooManyJobs) }
        cache.verify(key, isRepairing: true, progress: { jobs.moved($0, of: id) }) { result in
            jobs.end(
                id,
                result.map { found in
                    guard let found else { return [("stored", .integer(0))] }
                    let damaged = found.damaged.ranges.prefix(rangeLimit).map { "\($0.lowerBound)-\($0.upperBound)" }
                    return [
                        ("stored", .integer(1)), ("sound", .integer(found.soundBytes)), ("unchecked", .integer(found.uncheckedBytes)),
                        ("damaged", .string(damaged.joined(separator: " "))), ("repaired", .integer(found.isRepaired ? 1 : 0)),
                    ]
                })
        }
        answer(.object([("job", .integer(id))]))
    }

    private static func removeAll(from cache: MediaCache, _ answer: @escaping @Sendable (Answer) -> Void) {
        cache.onIndexLane(
            nil,
            { (before: Result<(Int, Int64), CacheError>) in
                switch before {
                case .success(let (count, bytes)):
                    cache.removeAll { result in
                        switch result {
                        case .success: answer(.object([("removed", .integer(Int64(count))), ("bytes", .integer(bytes))]))
                        case .failure(let error): answer(Answer(error))
                        }
                    }
                case .failure(let error): answer(Answer(error))
                }
            }
        ) { [store = cache.store] () throws(StoreError) in (try store.count(), try store.totalSizeBytes()) }
    }
}

/// The query of a command.
struct Query: Sendable {
    private let items: [String: String]
    /// The largest number of items that are read.
    private static let itemLimit = 16

    init(_ text: Substring) {
        var items: [String: String] = [:]
        for item in text.split(separator: "&").prefix(Self.itemLimit) {
            let name = item.prefix { $0 != "=" }
            items[String(name)] = item.dropFirst(name.count + 1).percentDecoded
        }
        self.items = items
    }

    subscript(name: String) -> String? { items[name] }

    func number(_ name: String) -> Int64? { items[name].flatMap { Int64($0) } }

    /// The key that the command names.
    var key: ResourceKey? { items["key"].map(ResourceKey.init(normalized:)) }
}
