import SpoolCore
import SpoolJSON
import SpoolServer
import SpoolSystem

/// The door of the status page to the commands of a running server: `POST /_spool/page/<verb>?<query>`
/// for browsers that have logged in.
///
/// A link from `spool login` logs a browser in, once. From then on the browser has a cookie, and
/// the page's script has a second secret. The actions are for this machine only.
///
/// A request of another site is refused for several reasons, each of which suffices. It comes
/// without the cookie, which is `SameSite=Strict`. It lacks the second secret. The field with that
/// secret makes a browser ask for permission first, and no answer gives it. `Origin` and
/// `Sec-Fetch-Site` name the other site. The router refuses a `Host` that is not this proxy.
final class PageDoor: Sendable {
    /// The first part of every path here.
    static let path = "page/"
    /// The request that logs a browser in. It needs no session.
    static let login = "login"
    /// The request that ends a session.
    static let logout = "logout"
    /// The list of jobs (GET).
    static let jobs = "jobs"
    /// The list of downloads (GET).
    static let downloads = "downloads"

    private let time: any TimeSource
    private let random: any RandomSource
    private let sessions = Locked(PageSessions())
    /// The path below which the browser sends the cookie: that of the page.
    private let cookiePath: String
    /// The name of the cookie. It differs between servers on one machine, because cookies are
    /// common to all ports.
    private let cookieName: String

    init(time: any TimeSource, random: any RandomSource, cookiePath: String) {
        (self.time, self.random, self.cookiePath) = (time, random, cookiePath)
        cookieName = "spool-page-" + String(random.next() & 0xFFFF_FFFF, radix: 36)
    }

    /// Makes the secret of a login link. The caller shows it to the user of this server only.
    func makeLink() -> String {
        let (secret, now) = (random.word(), time.now)
        sessions.withLock { $0.addLink(secret, now: now) }
        return secret
    }

    /// Answers a request for a name that begins with `path`. On the loop only.
    ///
    /// - Precondition: The `Host` of the request is this proxy.
    func respond(to request: RequestHead, _ path: Substring, _ query: Substring, _ control: Control, on exchange: Exchange) {
        let name = path.dropFirst(Self.path.count)
        if let (code, text) = Self.refusal(of: request, exchange) { return exchange.respond(.refusal(code, text)) }
        let isPost = request.method == "POST"
        if isPost, name == Self.login { return logIn(request, exchange) }
        guard isLoggedIn(request) else {
            return exchange.respond(.refusal(.notLoggedIn, "log in with a link of 'spool login' first"))
        }
        if request.method == "GET", name == Self.jobs {
            let jobs = control.jobs.json { ControlVerb.named($0, at: .page) != nil }
            return exchange.respond(ControlAnswer.object([("jobs", jobs)]).response)
        }
        if request.method == "GET", name == Self.downloads {
            return ControlVerb.run(name, query, at: .page, control, on: exchange, isChanging: false)
        }
        guard isPost else { return exchange.respond(.refusal(.unknownAction, "there is no action '\(name)'")) }
        guard name == Self.logout else { return ControlVerb.run(name, query, at: .page, control, on: exchange) }
        sessions.withLock { $0.logOut(cookie: cookie(of: request)) }
        exchange.respond(ControlAnswer.object([]).response)
    }

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
        let (cookie, now) = (cookie(of: request), time.now)
        return sessions.withLock { $0.admits(cookie: cookie, proof: proof, now: now) }
    }

    private func logIn(_ request: RequestHead, _ exchange: Exchange) {
        guard let link = request[Self.linkField] else {
            return exchange.respond(.refusal(.invalidQuery, "the secret of the link is missing"))
        }
        let session = PageSessions.Session(cookie: random.word(), proof: random.word())
        let now = time.now
        guard sessions.withLock({ $0.logIn(link: link, session, now: now) }) else {
            return exchange.respond(.refusal(.expired, "this link was used or has expired; 'spool login' prints a new one"))
        }
        let answer = ControlAnswer.object([("proof", .string(session.proof)), ("seconds", .integer(PageSessions.sessionSeconds))])
        var response = answer.response
        response.fields[.setCookie] =
            "\(cookieName)=\(session.cookie); Path=\(cookiePath); Max-Age=\(PageSessions.sessionSeconds); HttpOnly; SameSite=Strict"
        exchange.respond(response)
    }

    /// The field with the secret of a session.
    static let proofField: HTTPFields.Name = "Spool-Page"
    /// The field with the secret of a login link.
    static let linkField: HTTPFields.Name = "Spool-Link"
}
