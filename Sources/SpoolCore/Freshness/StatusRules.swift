/// The properties of status codes that caching depends on (RFC 9110 §15.1, RFC 9111 §3).
package enum StatusRules {
    /// Whether a response with this status may be fresh although it states no lifetime.
    package static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Whether this cache follows the caching rules of the status, so that it may store a response
    /// with `must-understand`.
    package static func isUnderstood(_ status: Int) -> Bool {
        isHeuristicallyCacheable(status) || [302, 303, 307, 400, 401, 403, 451, 500, 502, 503, 504].contains(status)
    }

    /// Whether a response with this status never has content (RFC 9110 §15.3.5, §15.4.5).
    package static func hasNoContent(_ status: Int) -> Bool { status == 204 || status == 304 }

    /// Whether a response with this status and a `Location` sends its client there (RFC 9110 §15.4). A
    /// 300 offers a choice to people, and browsers and players show or play its body.
    package static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// Whether a status is one that a response can end with. Smaller ones are interim.
    package static func isFinal(_ status: Int) -> Bool { (200...999).contains(status) }
}
