// Directives of requests and responses, and stale responses (RFC 9111 §4.2.4, §5.2; RFC 5861, 8246, 9213).

extension HTTPCase {
    static let directives: [HTTPCase] = (requests + stale + targeted).map(HTTPCase.init)

    private static let requests = [
        "9111 §5.2.1.4 | no-cache of a request validates | GET -> 200 {Cache-Control: max-age=60 & ETag: \"a\"} ~ GET [Cache-Control: no-cache] -> revalidated = asks If-None-Match: \"a\"",
        "9111 §5.2.1.4 | no-cache of a request fetches without validator | GET -> 200 {Cache-Control: max-age=60} ~ GET [Cache-Control: no-cache] -> 200",
        "9111 §5.4 | Pragma: no-cache validates without Cache-Control | GET -> 200 {Cache-Control: max-age=60 & ETag: \"a\"} ~ GET [Pragma: no-cache] -> revalidated",
        "9111 §5.4 | Cache-Control wins over Pragma | GET -> 200 {Cache-Control: max-age=60} ~ GET [Pragma: no-cache & Cache-Control: max-age=30] ",
        "9111 §5.4 | another Pragma is ignored | GET -> 200 {Cache-Control: max-age=60} ~ GET [Pragma: unknown]",
        "9111 §5.4 | Pragma in a response is ignored | GET -> 200 {Cache-Control: max-age=60 & Pragma: no-cache} ~ GET",
        "9111 §5.2.1.5 | no-store of a request stores nothing | GET [Cache-Control: no-store] -> 200 {Cache-Control: max-age=60} ~ GET -> 200",
        "9111 §5.2.1.1 | max-age of a request bounds the age | GET -> 200 {Cache-Control: max-age=60} ~ +20 GET [Cache-Control: max-age=10] -> 200",
        "9111 §5.2.1.1 | a young response satisfies max-age | GET -> 200 {Cache-Control: max-age=60} ~ +5 GET [Cache-Control: max-age=10]",
        "9111 §5.2.1.1 | max-age=0 of a request validates | GET -> 200 {Cache-Control: max-age=60 & ETag: \"a\"} ~ +1 GET [Cache-Control: max-age=0] -> revalidated",
        "9111 §5.2.1.1 | max-age of a request does not make a stale response fresh | GET -> 200 {Cache-Control: max-age=10} ~ +20 GET [Cache-Control: max-age=60] -> 200",
        "9111 §5.2.1.1 | Age counts for max-age of a request | GET -> 200 {Cache-Control: max-age=60 & Age: 30} ~ GET [Cache-Control: max-age=10] -> 200",
        "9111 §5.2.1.3 | min-fresh needs a rest | GET -> 200 {Cache-Control: max-age=60} ~ +20 GET [Cache-Control: min-fresh=50] -> 200",
        "9111 §5.2.1.3 | a rest satisfies min-fresh | GET -> 200 {Cache-Control: max-age=60} ~ +20 GET [Cache-Control: min-fresh=30]",
        "9111 §5.2.1.3 | Age counts for min-fresh | GET -> 200 {Cache-Control: max-age=60 & Age: 30} ~ GET [Cache-Control: min-fresh=40] -> 200",
        "9111 §5.2.1.2 | max-stale accepts a stale response | GET -> 200 {Cache-Control: max-age=10} ~ +20 GET [Cache-Control: max-stale=30]",
        "9111 §5.2.1.2 | max-stale has a bound | GET -> 200 {Cache-Control: max-age=10} ~ +60 GET [Cache-Control: max-stale=30] -> 200",
        "9111 §5.2.1.2 | max-stale without argument accepts any | GET -> 200 {Cache-Control: max-age=10} ~ +600 GET [Cache-Control: max-stale]",
        "9111 §5.2.1.2 | Age counts for max-stale | GET -> 200 {Cache-Control: max-age=10 & Age: 30} ~ GET [Cache-Control: max-stale=10] -> 200",
        "9111 §5.2.1.7 | only-if-cached gets a stored response | GET -> 200 {Cache-Control: max-age=60} ~ GET [Cache-Control: only-if-cached]",
        "9111 §5.2.1.7 | only-if-cached gets 504 for others | GET [Cache-Control: only-if-cached] = 504 & any body",
        "9111 §5.2.1.7 | only-if-cached gets 504 for a stale response | GET -> 200 {Cache-Control: max-age=10, must-revalidate} ~ +20 GET [Cache-Control: only-if-cached] = 504 & any body",
        "9111 §5.2.1 | an unknown directive of a request changes nothing | GET -> 200 {Cache-Control: max-age=60} ~ GET [Cache-Control: something]",
    ]

    private static let stale = [
        "9111 §5.2.2.2 | must-revalidate forbids max-stale | GET -> 200 {Cache-Control: max-age=10, must-revalidate} ~ +20 GET [Cache-Control: max-stale] -> 200",
        "9111 §5.2.2.2 | must-revalidate changes nothing while fresh | GET -> 200 {Cache-Control: max-age=10, must-revalidate} ~ +5 GET",
        "9111 §5.2.2.8 | in a shared cache proxy-revalidate forbids max-stale | GET -> 200 {Cache-Control: max-age=10, proxy-revalidate} ~ +20 GET [Cache-Control: max-stale] -> 200",
        "9111 §5.2.2.8 | a cache of one user ignores proxy-revalidate | GET -> 200 {Cache-Control: max-age=10, proxy-revalidate} ~ +20 GET [Cache-Control: max-stale]",
        "9111 §4.3.3 | a stale response stands in for 503 | GET -> 200 {Cache-Control: max-age=10} ~ +20 GET -> 503 = 200 & stored 1",
        "9111 §4.3.3 | a stale response stands in for 500 | GET -> 200 {Cache-Control: max-age=10} ~ +20 GET -> 500 = 200 & stored 1",
        "9111 §5.2.2.2 | must-revalidate passes the 503 on | GET -> 200 {Cache-Control: max-age=10, must-revalidate} ~ +20 GET -> 503",
        "9111 §5.2.2.8 | in a shared cache proxy-revalidate passes the 503 on | GET -> 200 {Cache-Control: max-age=10, proxy-revalidate} ~ +20 GET -> 503",
        "9111 §5.2.2.10 | in a shared cache s-maxage passes the 503 on | GET -> 200 {Cache-Control: s-maxage=10} ~ +20 GET -> 503",
        "9111 §5.2.2.4 | no-cache passes the 503 on | GET -> 200 {Cache-Control: no-cache & ETag: \"a\"} ~ GET -> 503",
        "5861 §4 | stale-if-error permits stale bytes for a time | GET -> 200 {Cache-Control: max-age=10, stale-if-error=60} ~ +30 GET -> 503 = 200 & stored 1",
        "5861 §4 | after stale-if-error the error is passed on | GET -> 200 {Cache-Control: max-age=10, stale-if-error=60} ~ +100 GET -> 503",
        "5861 §4 | a request has stale-if-error, too | GET -> 200 {Cache-Control: max-age=10} ~ +100 GET [Cache-Control: stale-if-error=10] -> 503",
        "5861 §3 | stale-while-revalidate serves stale bytes and asks | GET -> 200 {Cache-Control: max-age=10, stale-while-revalidate=60} ~ +20 GET -> 200 = stored 1",
        "5861 §3 | the answer of the background replaces them | GET -> 200 {Cache-Control: max-age=10, stale-while-revalidate=60} ~ +20 GET -> 200 {Cache-Control: max-age=10} = stored 1 ~ GET = 'body 2'",
        #"5861 §3 | a new tag from the background disturbs no client | GET -> 200 {Cache-Control: max-age=10, stale-while-revalidate=60 & ETag: "a"} ~ +20 GET -> 200 {Cache-Control: max-age=10 & ETag: "b"} = stored 1 ~ GET = 'body 2' & ETag: "b""#,
        "5861 §3 | after stale-while-revalidate the client waits | GET -> 200 {Cache-Control: max-age=10, stale-while-revalidate=60} ~ +100 GET -> 200",
        "8246 §2 | immutable is fresh while max-age lasts | GET -> 200 {Cache-Control: max-age=60, immutable} ~ +30 GET",
        "8246 §2 | immutable ends with max-age | GET -> 200 {Cache-Control: max-age=60, immutable} ~ +90 GET -> 200",
    ]

    private static let targeted = [
        "9213 §2.1 | a shared cache takes CDN-Cache-Control | GET -> 200 {CDN-Cache-Control: max-age=60} ~ +30 GET",
        "9213 §2.1 | in a shared cache it wins over Cache-Control | GET -> 200 {CDN-Cache-Control: max-age=60 & Cache-Control: max-age=1} ~ +30 GET",
        "9213 §2.1 | in a shared cache a shorter one wins, too | GET -> 200 {CDN-Cache-Control: max-age=1 & Cache-Control: max-age=60} ~ +30 GET -> 200",
        "9213 §2.1 | in a shared cache it wins over Expires | GET -> 200 {CDN-Cache-Control: max-age=60 & Expires: @-60} ~ +30 GET",
        "9213 §2.1 | in a shared cache it permits what Cache-Control forbids | GET -> 200 {CDN-Cache-Control: max-age=60 & Cache-Control: no-store} ~ +30 GET",
        "9213 §2.1 | in a shared cache its no-store forbids | GET -> 200 {CDN-Cache-Control: no-store & Cache-Control: max-age=60} ~ GET -> 200",
        "9213 §2.1 | in a shared cache its private forbids | GET -> 200 {CDN-Cache-Control: private & Cache-Control: max-age=60} ~ GET -> 200",
        "9213 §2.1 | in a shared cache its no-cache validates | GET -> 200 {CDN-Cache-Control: no-cache & Cache-Control: max-age=60 & ETag: \"a\"} ~ GET -> revalidated",
        "9213 §2.1 | in a shared cache an invalid one is ignored | GET -> 200 {CDN-Cache-Control: max-age=60, = & Cache-Control: max-age=1} ~ +30 GET -> 200",
        "9213 §2.1 | in a shared cache an empty one is ignored | GET -> 200 {CDN-Cache-Control: & Cache-Control: max-age=60} ~ +30 GET",
        "9213 §2.2 | in a shared cache a number in quotes is no number | GET -> 200 {CDN-Cache-Control: max-age=\"60\" & Cache-Control: max-age=1} ~ +30 GET -> 200",
        "9213 §2.2 | in a shared cache names in capitals are invalid | GET -> 200 {CDN-Cache-Control: Max-Age=60 & Cache-Control: max-age=1} ~ +30 GET -> 200",
        "9213 §2.2 | in a shared cache of repeated directives the last counts | GET -> 200 {CDN-Cache-Control: max-age=1, max-age=60} ~ +30 GET",
        "9213 §2.2 | in a shared cache unknown directives and parameters are ignored | GET -> 200 {CDN-Cache-Control: a=(1 2), b, max-age=60;x=1} ~ +30 GET",
        "9213 §2.2 | in a shared cache a negative max-age is stale | GET -> 200 {CDN-Cache-Control: max-age=-1 & Cache-Control: max-age=60} ~ +1 GET -> 200",
        "9213 §2.2 | in a shared cache a decimal is no number of seconds | GET -> 200 {CDN-Cache-Control: max-age=60.0 & Cache-Control: max-age=60} ~ +1 GET -> 200",
        "9213 §2.1 | a cache of one user ignores CDN-Cache-Control | GET -> 200 {CDN-Cache-Control: max-age=60 & Cache-Control: max-age=1} ~ +30 GET -> 200",
        "9213 §2 | CDN-Cache-Control is passed on | GET -> 200 {CDN-Cache-Control: max-age=60 & Cache-Control: max-age=60} = CDN-Cache-Control: max-age=60",
    ]
}
