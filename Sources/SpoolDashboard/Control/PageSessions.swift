import SpoolCore
import SpoolProxy

/// The logins of the status page: pending links, and sessions of browsers.
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

    /// The largest number of links that nobody has used yet. The oldest one goes first.
    static let linkLimit = 8
    /// The time in which a link has to be used.
    static let linkLifetime: Nanoseconds = .seconds(600)
    /// The largest number of logged-in browsers. The oldest login ends first.
    static let sessionLimit = 16
    /// The time after which a browser has to log in again.
    static let sessionLifetime: Nanoseconds = .seconds(sessionSeconds)
    static let sessionSeconds: Int64 = 12 * 3600
    private var links: [(secret: String, expires: MonotonicInstant)] = []
    private var sessions: [(session: Session, expires: MonotonicInstant)] = []

    /// Adds a link that logs one browser in. Beyond the limit, the oldest one goes.
    mutating func addLink(_ secret: String, now: MonotonicInstant) {
        links.removeAll { $0.expires <= now }
        if links.count >= Self.linkLimit { links.removeFirst() }
        links.append((secret, now + Self.linkLifetime))
    }

    /// Uses up a link.
    ///
    /// - Parameter session: The session that begins if the link is valid.
    /// - Returns: False for a link that is unknown, used or expired.
    mutating func logIn(link: String, _ session: Session, now: MonotonicInstant) -> Bool {
        guard useUp(link, now: now) else { return false }
        sessions.removeAll { $0.expires <= now }
        if sessions.count >= Self.sessionLimit { sessions.removeFirst() }
        sessions.append((session, now + Self.sessionLifetime))
        return true
    }

    /// Removes a link, and returns whether it was valid.
    private mutating func useUp(_ link: String, now: MonotonicInstant) -> Bool {
        links.removeAll { $0.expires <= now }
        var found: Int?
        for (index, entry) in links.enumerated() where constantTimeEqual(link, entry.secret) { found = index }
        guard let found else { return false }
        links.remove(at: found)
        return true
    }

    /// Returns whether a browser is logged in that has both secrets.
    func admits(cookie: String, proof: String, now: MonotonicInstant) -> Bool {
        sessions.reduce(false) { found, entry in
            let isMeant = constantTimeEqual(cookie, entry.session.cookie) && constantTimeEqual(proof, entry.session.proof)
            return found || isMeant && entry.expires > now
        }
    }

    /// Ends the session of a cookie.
    mutating func logOut(cookie: String) { sessions.removeAll { constantTimeEqual(cookie, $0.session.cookie) } }
}
