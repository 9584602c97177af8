import Spool
import SpoolCore
import SpoolProxy
import SpoolServer
import SpoolSystem

/// The actions of the status page: `POST /_spool/page/<verb>?<query>` for browsers that have logged
/// in.
///
/// A link from `spool login` logs a browser in, once. From then on the browser has a cookie, and
/// the page's script has a second secret. The actions are for this machine only. They name keys and
/// URLs, never paths, and import nothing.
///
/// A request of another site is refused for several reasons, each of which suffices. It comes
/// without the cookie, which is `SameSite=Strict`. It lacks the second secret. The field with that
/// secret makes a browser ask for permission first, and no answer gives it. `Origin` and
/// `Sec-Fetch-Site` name the other site. The router refuses a `Host` that is not this proxy.
final class PageActions: Sendable {
    /// The answer to an action.
    enum Answer: Sendable {
        case object([(String, JSON)])
        case refused(RefusalCode, status: Int? = nil, String)

        init(_ refusal: PageJobs.Refusal) { self = .refused(refusal.code, refusal.text) }
    }

    /// Answers once, on any thread.
    typealias Done = @Sendable (Answer) -> Void

    /// An action of a logged-in browser.
    struct Verb: Sendable {
        /// The parameters of its query.
        var parameters: [String]
        var run: @Sendable (PageActions, Query, @escaping Done) -> Void
    }

    /// The actions that change something. `login` is not among them, because it needs no session.
    static let verbs: [String: Verb] = [
        "logout": Verb(parameters: []) { _, _, done in done(.object([])) },
        "pin": Verb(parameters: ["key"]) { $0.setPinned(true, $1, $2) },
        "unpin": Verb(parameters: ["key"]) { $0.setPinned(false, $1, $2) },
        "remove": Verb(parameters: ["key"]) { $0.remove($1, $2) },
        "verify": Verb(parameters: ["key"]) { $0.verify($1, $2) },
        "fetch": Verb(parameters: ["key", "url"]) { $0.preload("fetch", .whole, $1, $2) },
        "preload": Verb(parameters: ["key", "url"]) { $0.preload("preload", .seconds(preloadedSeconds), $1, $2) },
        "pause": Verb(parameters: ["id"]) { $0.change($1, $2) { jobs, id throws(PageJobs.Refusal) in try jobs.setPaused(true, id) } },
        "resume": Verb(parameters: ["id"]) { $0.change($1, $2) { jobs, id throws(PageJobs.Refusal) in try jobs.setPaused(false, id) } },
        "cancel": Verb(parameters: ["id"]) { $0.change($1, $2) { jobs, id throws(PageJobs.Refusal) in try jobs.cancel(id) } },
    ]

    /// The first part of every path here.
    static let path = "page/"
    /// How many seconds of media the action `preload` fetches.
    private static let preloadedSeconds: Double = 30
    /// The longest query that is read, in bytes.
    private static let queryLimitBytes = 16 << 10

    private let cache: MediaCache
    private let jobs = PageJobs()
    /// Called after each action, because it may have changed resources.
    private let changed = WakeRelay()
    private let sessions = Locked(PageSessions())
    /// The path below which the browser sends the cookie: that of the page.
    private let cookiePath: String
    /// The name of the cookie. It differs between servers on one machine, because cookies are
    /// common to all ports.
    private let cookieName: String
    /// Whether this proxy serves a URL.
    private let serves: @Sendable (_ url: String) -> Bool

    init(cache: MediaCache, cookiePath: String, serves: @escaping @Sendable (_ url: String) -> Bool) {
        self.cache = cache
        self.cookiePath = cookiePath
        self.serves = serves
        cookieName = "spool-page-" + String(cache.environment.random.next() & 0xFFFF_FFFF, radix: 36)
    }

    private var now: MonotonicInstant { cache.environment.time.now }

    private func secret() -> String {
        (0..<2).map { _ in
            let digits = String(cache.environment.random.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Makes the secret of a login link. The caller shows it to the user of this server only.
    func makeLink() -> String {
        let secret = secret()
        sessions.withLock { $0.addLink(secret, now: now) }
        return secret
    }

    // MARK: Requests

    /// Answers a request for `name` (the part behind `page/`). On the loop only.
    ///
    /// - Precondition: The `Host` of the request is this proxy.
    func respond(to request: RequestHead, name: Substring, query: Substring, on exchange: Exchange) {
        if let (code, text) = Self.refusal(of: request, exchange) { return exchange.respond(.refusal(code, text)) }
        guard query.utf8.count <= Self.queryLimitBytes else { return exchange.respond(.refusal(.queryTooLong, "the query is too long")) }
        let items = Query(query)
        if request.method == "POST", name == "login" { return logIn(request, exchange) }
        guard isLoggedIn(request) else {
            return exchange.respond(.refusal(.notLoggedIn, "log in with a link of 'spool login' first"))
        }
        if request.method == "GET", name == "jobs" { return exchange.respond(Self.response(.object([("jobs", jobs.json)]))) }
        guard request.method == "POST", let verb = Self.verbs[String(name)] else {
            return exchange.respond(.refusal(.unknownAction, "there is no action '\(name)'"))
        }
        if name == "logout" { sessions.withLock { $0.logOut(cookie: cookie(of: request)) } }
        let (reply, loop) = (LoopConfined(exchange), exchange.loop)
        verb.run(self, items) { [changed] answer in
            changed.wake()
            loop.post { reply.value.respond(Self.response(answer)) }
        }
    }

    /// The number of changes of the jobs so far.
    var jobChanges: Int64 { jobs.changes }

    /// Sets the closure to call after each action.
    func onChange(_ changed: @escaping @Sendable () -> Void) { self.changed.set(changed) }

    /// Returns the reason why a request is refused, whoever has logged in.
    private static func refusal(of request: RequestHead, _ exchange: Exchange) -> (RefusalCode, String)? {
        guard exchange.isFromThisMachine else {
            return (.notThisMachine, "actions are taken from this machine only; from another one, use 'ssh -L'")
        }
        guard request.contentLength == 0 else { return (.hasBody, "actions have no body") }
        if let site = request[.secFetchSite], !site.equalsIgnoringCase("same-origin") {
            return (.notThePage, "actions are taken from the status page only")
        }
        guard request.has(.origin) else {
            // Browsers send `Origin` with each POST.
            return request.method == "POST" ? (.notThePage, "actions are taken from the status page only") : nil
        }
        guard let origin = request.fields.single(.origin).value, let authority = request.authority,
            origin.equalsIgnoringCase("http://\(authority)") || origin.equalsIgnoringCase("https://\(authority)")
        else { return (.notThePage, "actions are taken from the status page only") }
        return nil
    }

    private func cookie(of request: RequestHead) -> String {
        let pairs = request[.cookie]?.split(separator: ";") ?? []
        for pair in pairs {
            let pair = pair.drop { $0 == " " }
            if pair.hasPrefix(cookieName + "=") { return String(pair.dropFirst(cookieName.utf8.count + 1)) }
        }
        return ""
    }

    private func isLoggedIn(_ request: RequestHead) -> Bool {
        guard let proof = request[Self.proofField] else { return false }
        let (cookie, now) = (cookie(of: request), now)
        return sessions.withLock { $0.admits(cookie: cookie, proof: proof, now: now) }
    }

    private func logIn(_ request: RequestHead, _ exchange: Exchange) {
        guard let link = request[Self.linkField] else {
            return exchange.respond(.refusal(.invalidQuery, "the secret of the link is missing"))
        }
        let session = PageSessions.Session(cookie: secret(), proof: secret())
        let now = now
        guard sessions.withLock({ $0.logIn(link: link, session, now: now) }) else {
            return exchange.respond(.refusal(.expired, "this link was used or has expired; 'spool login' prints a new one"))
        }
        var response = Self.response(.object([("proof", .string(session.proof)), ("seconds", .integer(PageSessions.sessionSeconds))]))
        response.fields[.setCookie] =
            "\(cookieName)=\(session.cookie); Path=\(cookiePath); Max-Age=\(PageSessions.sessionSeconds); HttpOnly; SameSite=Strict"
        exchange.respond(response)
    }

    /// The field with the secret of a session.
    static let proofField: HTTPFields.Name = "Spool-Page"
    /// The field with the secret of a login link.
    static let linkField: HTTPFields.Name = "Spool-Link"

    private static func response(_ answer: Answer) -> Response {
        switch answer {
        case .object(let members): Response(200, fields: JSON.fields, body: .bytes(JSON.object(members).bytes))
        case .refused(let code, let status, let text): .refusal(code, status: status, text)
        }
    }
}

// MARK: - Verbs

extension PageActions {
    private static let noKey = Answer.refused(.invalidQuery, "key= is missing")

    private func setPinned(_ isPinned: Bool, _ query: Query, _ done: @escaping Done) {
        guard let key = query.key else { return done(Self.noKey) }
        cache.setPinned(key, isPinned) { result in
            switch result {
            case .success(let changed): done(.object([("changed", .bool(changed))]))
            case .failure(let error): done(Answer(error))
            }
        }
    }

    private func remove(_ query: Query, _ done: @escaping Done) {
        guard let key = query.key else { return done(Self.noKey) }
        cache.remove(key) { result in
            switch result {
            case .success(let existed): done(.object([("removed", .bool(existed))]))
            case .failure(let error): done(Answer(error))
            }
        }
    }

    /// Compares the stored bytes with their checks. Damaged ones become gaps.
    private func verify(_ query: Query, _ done: @escaping Done) {
        guard let key = query.key else { return done(Self.noKey) }
        begin("verify", key, done) { [cache, jobs] id in
            cache.verify(key, isRepairing: true, progress: { jobs.moved($0, id) }) { result in
                jobs.end(id, result.map { $0?.text ?? "nothing of it is stored" })
            }
        }
    }

    private func begin(_ action: String, _ key: ResourceKey, _ done: @escaping Done, _ start: (Int64) -> Void) {
        do throws(PageJobs.Refusal) {
            let id = try jobs.begin(action, key)
            start(id)
            done(.object([("id", .integer(id))]))
        } catch {
            done(Answer(error))
        }
    }

    /// Begins a preload of a known resource, or of a URL.
    private func preload(_ action: String, _ amount: PreloadAmount, _ query: Query, _ done: @escaping Done) {
        if let url = query["url"] { return preload(action, amount, url, key: nil, done) }
        guard let key = query.key else { return done(.refused(.invalidQuery, "key= or url= is missing")) }
        cache.status(of: key) { result in
            switch result {
            case .success(let status?): self.preload(action, amount, status.url, key: key, done)
            case .success(nil): done(.refused(.notStored, "nothing of it is stored"))
            case .failure(let error): done(Answer(error))
            }
        }
    }

    private func preload(_ action: String, _ amount: PreloadAmount, _ url: String, key: ResourceKey?, _ done: @escaping Done) {
        guard serves(url) else { return done(.refused(.notServed, "this proxy does not serve \(url)")) }
        do throws(CacheError) {
            let name = if let key { key } else { try cache.key(for: url) }
            begin(action, name, done) { id in
                do throws(CacheError) {
                    let preload = try cache.preload(url, amount, key: key)
                    jobs.follow(preload, id)
                    preload.whenOver { [jobs] in jobs.end(id, $0.map(\.text)) }
                } catch {
                    jobs.end(id, .failure(error))
                }
            }
        } catch {
            done(Answer(error))
        }
    }

    private func change(
        _ query: Query, _ done: @escaping Done, _ body: (PageJobs, Int64) throws(PageJobs.Refusal) -> Void
    ) {
        guard let id = query.number("id") else { return done(.refused(.invalidQuery, "id= is missing")) }
        do throws(PageJobs.Refusal) {
            try body(jobs, id)
            done(.object([]))
        } catch {
            done(Answer(error))
        }
    }
}

extension PageActions.Answer {
    fileprivate init(_ error: CacheError) { self = .refused(RefusalCode(error), status: error.statusForClient, error.message) }
}

extension PreloadResult {
    /// The outcome in words.
    fileprivate var text: String {
        fetchedBytes == 0 ? "all of it was stored already" : "done: \(fetchedBytes) bytes fetched, \(storedBytes) were stored before"
    }
}

extension Verification {
    /// The outcome in words.
    fileprivate var text: String {
        damaged.isEmpty
            ? "all \(soundBytes) checked bytes are sound"
            : "\(damaged.totalBytes) bytes were damaged and are no longer stored; they are fetched again when they are needed"
    }
}
