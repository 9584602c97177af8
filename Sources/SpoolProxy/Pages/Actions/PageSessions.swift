import SpoolCore
import SpoolSystem

/// The logins of the status page: pending links, sessions of browsers, and tickets for downloads.
///
/// A value without a clock and without I/O. Every secret has 128 random bits and expires, and the
/// number of secrets of each kind is bounded.
struct PageSessions {
    /// The secrets of one logged-in browser. A request needs both.
    struct Session {
        /// The value of the cookie. Scripts cannot read it. Browsers send it to every port of the
        /// host, so another server on this machine may see it.
        let cookie: String
        /// The secret that the page's script sends in a field. Only pages of the same port have it.
        let proof: String
    }

    /// A resource that a ticket allows to download.
    struct Download: Sendable {
        var key: ResourceKey
        var url: MediaURL
        /// The name of the file.
        var name: String
    }

    /// The largest number of links that nobody has used yet. The oldest one goes first.
    static let linkLimit = 8
    /// The time in which a link has to be used.
    static let linkLifetime: Nanoseconds = .seconds(600)
    /// The largest number of logged-in browsers. The oldest login ends first.
    static let sessionLimit = 16
    /// The time after which a browser has to log in again.
    static let sessionLifetime: Nanoseconds = .seconds(sessionSeconds)
    static let sessionSeconds: Int64 = 12 * 3600
    /// The largest number of downloads that were granted and have not begun.
    static let ticketLimit = 16
    /// The time in which a granted download has to begin.
    static let ticketLifetime: Nanoseconds = .seconds(60)

    private var links = OneTimeSecrets<Void>(limit: linkLimit, lifetime: linkLifetime)
    private var tickets = OneTimeSecrets<Download>(limit: ticketLimit, lifetime: ticketLifetime)
    private var sessions: [(session: Session, expires: MonotonicInstant)] = []

    /// Adds a link that logs one browser in.
    mutating func addLink(_ secret: String, now: MonotonicInstant) { links.add(secret, (), now: now) }

    /// Uses up a link.
    ///
    /// - Parameter session: The session that begins if the link is valid.
    /// - Returns: False for a link that is unknown, used or expired.
    mutating func logIn(link: String, _ session: Session, now: MonotonicInstant) -> Bool {
        guard links.take(link, now: now) != nil else { return false }
        sessions.removeAll { $0.expires <= now }
        if sessions.count >= Self.sessionLimit { sessions.removeFirst() }
        sessions.append((session, now + Self.sessionLifetime))
        return true
    }

    /// Returns whether a browser is logged in that has both secrets.
    func admits(cookie: String, proof: String, now: MonotonicInstant) -> Bool {
        sessions.reduce(false) { found, entry in
            let isMeant = constantTimeEqual(cookie, entry.session.cookie) && constantTimeEqual(proof, entry.session.proof)
            return found || isMeant && entry.expires > now
        }
    }

    /// Returns whether a browser is logged in that has the cookie. A download is a navigation,
    /// which sends no field of the script.
    func admits(cookie: String, now: MonotonicInstant) -> Bool {
        sessions.reduce(false) { found, entry in found || constantTimeEqual(cookie, entry.session.cookie) && entry.expires > now }
    }

    /// Ends the session of a cookie.
    mutating func logOut(cookie: String) { sessions.removeAll { constantTimeEqual(cookie, $0.session.cookie) } }

    /// Adds a ticket for one download.
    mutating func addTicket(_ secret: String, _ download: Download, now: MonotonicInstant) { tickets.add(secret, download, now: now) }

    /// Uses up a ticket.
    mutating func takeTicket(_ secret: String, now: MonotonicInstant) -> Download? { tickets.take(secret, now: now) }
}

/// Secrets that count once, each with a value, until they expire.
private struct OneTimeSecrets<Value> {
    let limit: Int
    let lifetime: Nanoseconds
    private var entries: [(secret: String, value: Value, expires: MonotonicInstant)] = []

    init(limit: Int, lifetime: Nanoseconds) {
        self.limit = limit
        self.lifetime = lifetime
    }

    /// Adds a secret. Beyond the limit, the oldest one goes.
    mutating func add(_ secret: String, _ value: Value, now: MonotonicInstant) {
        entries.removeAll { $0.expires <= now }
        if entries.count >= limit { entries.removeFirst() }
        entries.append((secret, value, now + lifetime))
    }

    /// Removes a secret and returns its value, or nil for one that is unknown or expired.
    mutating func take(_ secret: String, now: MonotonicInstant) -> Value? {
        entries.removeAll { $0.expires <= now }
        var found: Int?
        for (index, entry) in entries.enumerated() where constantTimeEqual(secret, entry.secret) { found = index }
        return found.map { entries.remove(at: $0).value }
    }
}
