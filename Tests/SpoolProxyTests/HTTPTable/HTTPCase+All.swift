extension HTTPCase {
    /// Every case, in the order of docs/http.md.
    static let all: [HTTPCase] = freshness + directives + storing + validation + methods + parts + selection

    /// The cases on caching that a proxy for all sites passes as well. It answers GET and HEAD alone.
    static let ofGeneralProxy = (freshness + directives + validation).filter { row in !differing.contains { row.requirement.contains($0) } }

    private static let differing = [
        // It follows redirects itself.
        "a redirect with a lifetime",
        // Out of reach of the origin, stored bytes serve (docs/freshness.md).
        "only-if-cached gets 504 for a", "passes the 503 on", "the error is passed on", "a request has stale-if-error",
        // It appends a policy of its own.
        "updates Content-Security-Policy",
    ]
}
