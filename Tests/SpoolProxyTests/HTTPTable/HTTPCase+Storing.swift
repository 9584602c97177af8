// Which responses are stored, with which fields, and by which statuses (RFC 9111 §3, §3.1, §3.5).

extension HTTPCase {
    static let storing: [HTTPCase] = statuses + rules + fields + credentials

    private static let statuses =
        [200, 203, 204, 299, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 418, 451, 499, 500, 501, 502, 503, 504, 599]
        .flatMap {
            [
                HTTPCase("9111 §3 | a fresh \($0) is reused | GET -> \($0) {Cache-Control: max-age=60 & X-Test: a} ~ +30 GET = X-Test: a"),
                HTTPCase("9111 §4.2 | a stale \($0) is not | GET -> \($0) {Cache-Control: max-age=60} ~ +61 GET -> \($0)"),
            ]
        }

    private static let rules = [
        "9111 §5.2.2.5 | no-store is not stored | GET -> 200 {Cache-Control: no-store, max-age=60} ~ GET -> 200",
        "9111 §5.2.2.5 | no-store has any case | GET -> 200 {Cache-Control: No-StOrE, max-age=60} ~ GET -> 200",
        "9111 §5.2.2.5 | no-store wins whatever follows | GET -> 200 {Cache-Control: max-age=60, public, no-store} ~ GET -> 200",
        "9111 §5.2.2.5 | no-store wins on a second line | GET -> 200 {Cache-Control: max-age=60 & Cache-Control: no-store} ~ GET -> 200",
        "9111 §5.2.2.4 | no-cache is stored and validated | GET -> 200 {Cache-Control: no-cache, max-age=60 & ETag: \"a\"} ~ GET -> revalidated = asks If-None-Match: \"a\"",
        "9111 §5.2.2.4 | no-cache without validator is fetched again | GET -> 200 {Cache-Control: no-cache, max-age=60} ~ GET -> 200",
        "9111 §5.2.2.4 | no-cache has any case | GET -> 200 {Cache-Control: NO-CACHE, max-age=60} ~ GET -> 200",
        "9111 §5.2.2.4 | no-cache with a field name keeps the field for the client that asked | GET -> 200 {Cache-Control: no-cache=\"X-Secret\", max-age=60 & X-Secret: s} = X-Secret: s ~ GET = no X-Secret",
        "9111 §5.2.2.7 | a shared cache does not store private | GET -> 200 {Cache-Control: private, max-age=60} ~ GET -> 200",
        "9111 §5.2.2.7 | a cache of one user stores private | GET -> 200 {Cache-Control: private, max-age=60} ~ GET",
        "9111 §5.2.2.7 | in a shared cache private with a field name keeps the field for the client that asked | GET -> 200 {Cache-Control: private=\"X-Secret\", max-age=60 & X-Secret: s} = X-Secret: s ~ GET = no X-Secret",
        "9111 §5.2.2.3 | must-understand overrides no-store for a known status | GET -> 200 {Cache-Control: must-understand, no-store, max-age=60} ~ GET",
        "9111 §5.2.2.3 | must-understand forbids an unknown status | GET -> 299 {Cache-Control: must-understand, no-store, max-age=60} ~ GET -> 299",
        "9111 §5.2.2.3 | must-understand without no-store forbids an unknown status, too | GET -> 499 {Cache-Control: must-understand, max-age=60} ~ GET -> 499",
        "9111 §3 | a response without freshness and validator is fetched again | GET -> 200 ~ GET -> 200",
        "9111 §3 | a redirect is stored with its target | GET -> 301 {Location: /there & Cache-Control: max-age=60} ~ GET = Location: /there",
        "9111 §3 | a stored page of an error keeps its text | GET -> 404 {Cache-Control: max-age=60} 'nothing here' ~ GET = 'nothing here'",
        "9110 §15.4 | a redirect without freshness is asked again | GET -> 302 {Location: /there} ~ GET -> 302 {Location: /elsewhere} = Location: /elsewhere",
        "9111 §4 | another query is another resource | GET /r?a -> 200 {Cache-Control: max-age=60} ~ GET /r?b -> 200",
        "9111 §4 | the same query is the same resource | GET /r?a=1&b=2 -> 200 {Cache-Control: max-age=60} ~ GET /r?a=1&b=2",
        "9111 §4 | the path has its case | GET /a -> 200 {Cache-Control: max-age=60} ~ GET /A -> 200",
        "9111 §3 | a body that is longer than one chunk is stored | GET -> 200 {Cache-Control: max-age=60} '\(String(repeating: "0123456789", count: 20))' ~ GET",
        "9111 §3 | an empty body is stored | GET -> 200 {Cache-Control: max-age=60} '' ~ GET",
    ].map(HTTPCase.init)

    private static let fields =
        [
            "Cache-Control: max-age=60", "Content-Disposition: attachment", "Content-Language: de", "Content-Location: /other",
            "Content-Security-Policy: default-src 'none'", "Content-Type: text/x-test; charset=utf-8", "Custom-Field: a, b", "ETag: \"a\"",
            "Link: </style.css>; rel=preload", "Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT", "Server: other/1.0",
            "Strict-Transport-Security: max-age=60", "Surrogate-Key: a", "Vary: X-Other", "Via: 1.0 other", "Warning: 199 - \"w\"",
            "X-Content-Type-Options: nosniff", "Access-Control-Allow-Origin: *", "Alt-Svc: clear", "Refresh: 30", "Retry-After: 30",
            "Pragma: unknown", "Expires: Fri, 15 Jan 2027 12:00:00 GMT", "Age: 0", "Content-MD5: Q2hlY2s=", "Clear-Site-Data: \"cache\"",
        ].filter { !$0.isEmpty }.map { field in
            let name = field.prefix { $0 != ":" }
            let first = name == "Cache-Control" ? "" : " & Cache-Control: max-age=60"
            let expected = ["Via", "Age"].contains(name) ? String(name) : field
            return HTTPCase("9111 §3.1 | \(name) is stored and sent | GET -> 200 {\(field)\(first)} = \(expected) ~ GET = \(expected)")
        }
        + [
            "Connection: X-Hop", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "TE: trailers", "Upgrade: h2c",
            "Proxy-Authenticate: Basic",
        ].map {
            field in
            let name = field.prefix { $0 != ":" }
            let extra = name == "Connection" ? " & X-Hop: 1" : ""
            let gone = name == "Connection" ? "X-Hop" : String(name)
            return HTTPCase(
                "9110 §7.6.1 | \(gone) belongs to one connection\(name == "Connection" ? ", which names it" : "") | GET -> 200 {Cache-Control: max-age=60 & \(field)\(extra)} = no \(gone) ~ GET = no \(gone)"
            )
        }
        + [
            "9111 §7.3 | Set-Cookie goes to the first client | GET -> 200 {Cache-Control: max-age=60 & Set-Cookie: a=b} = Set-Cookie: a=b ~ GET = no Set-Cookie",
            "9110 §6.6.1 | a response without Date gets one | GET -> 200 {Cache-Control: max-age=60 & no Date: 1} = Date ~ GET = Date",
            "9110 §6.6.1 | the Date of the origin stays | GET -> 200 {Cache-Control: max-age=60 & Date: @-5} = Date: @-5",
        ].map(HTTPCase.init)

    private static let credentials = [
        "9111 §3.5 | a shared cache does not reuse a response to credentials | GET [Authorization: Basic eA==] -> 200 {Cache-Control: max-age=60} ~ GET -> 200",
        "9111 §3.5 | a shared cache does not reuse it for other credentials | GET [Authorization: Basic eA==] -> 200 {Cache-Control: max-age=60} ~ GET [Authorization: Basic eQ==] -> 200",
    ].map(HTTPCase.init)
}
