// The choice of a stored response by the fields of the request (RFC 9111 §4.1), what HEAD and a 304 say about stored
// responses (§4.3.4, §4.3.5), and what an intermediary does with requests (RFC 9110 §7.6, §10.1).

extension HTTPCase {
    static let selection: [HTTPCase] = (variants + heads + selectedBy304 + requests + rights).map(HTTPCase.init)

    private static let variants = [
        "9111 §4.1 | equal fields that Vary names select | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 1]",
        "9111 §4.1 | another value of a field that Vary names is asked for | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 2] -> 200",
        "9111 §4.1 | both responses are stored | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 2] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 1] ~ GET [X-A: 2] = stored 2",
        "9111 §4.1 | a field that is absent in both selects | GET -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET",
        "9111 §4.1 | a field that is absent in the later request does not select | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET -> 200",
        "9111 §4.1 | a field that is absent in the first request does not select | GET -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 1] -> 200",
        "9111 §4.1 | other fields do not matter | GET [X-A: 1 & X-B: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 1 & X-B: 2]",
        "9111 §4.1 | all fields that Vary names have to be equal | GET [X-A: 1 & X-B: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A, X-B} ~ GET [X-A: 1 & X-B: 2] -> 200",
        "9111 §4.1 | two lines of Vary are one list | GET [X-A: 1 & X-B: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A & Vary: X-B} ~ GET [X-A: 1 & X-B: 2] -> 200",
        "9111 §4.1 | names in Vary have any case | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: x-a} ~ GET [X-A: 2] -> 200",
        "9111 §4.1 | an empty element of Vary names nothing | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: , X-A,} ~ GET [X-A: 1]",
        "9111 §4.1 | white space around commas does not matter | GET [X-A: 1,2] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 1 , 2]",
        "9111 §4.1 | two lines of a request field are one list | GET [X-A: 1 & X-A: 2] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 1, 2]",
        "9111 §4.1 | the order of a list matters | GET [X-A: 1, 2] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 2, 1] -> 200",
        "9111 §4.1 | Vary: * matches nothing | GET -> 200 {Cache-Control: max-age=60 & Vary: *} ~ GET -> 200",
        "9111 §4.1 | Vary: * in a list matches nothing | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A, *} ~ GET [X-A: 1] -> 200",
        "9111 §4.1 | a stale variant is validated by its own tag | GET [X-A: 1] -> 200 {Cache-Control: max-age=10 & Vary: X-A & ETag: \"a\"} ~ +20 GET [X-A: 1] -> revalidated {Cache-Control: max-age=60 & Vary: X-A & ETag: \"a\"} = asks If-None-Match: \"a\"",
        "9111 §4.1 | an error varies, too | GET [X-A: 1] -> 404 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 2] -> 200",
        "9111 §4.1 | HEAD selects as GET does | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A & X-T: 1} ~ HEAD [X-A: 1] = X-T: 1",
        "9111 §4.1 | HEAD with another value is asked for | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A & X-T: 1} ~ HEAD [X-A: 2] -> 200 {X-T: 2 & Vary: X-A} = X-T: 2",
        "9111 §4.4 | a change invalidates every variant | GET [X-A: 1] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ GET [X-A: 2] -> 200 {Cache-Control: max-age=60 & Vary: X-A} ~ POST <x> -> 200 ~ GET [X-A: 1] -> 200 ~ GET [X-A: 2] -> 200",
    ]

    private static let heads = [
        "9111 §4.3.5 | a HEAD with the stored validator updates the fields | GET -> 200 {Cache-Control: max-age=10 & ETag: \"a\" & X-T: 1} ~ +20 HEAD -> 200 {Cache-Control: max-age=60 & ETag: \"a\" & X-T: 2 & Content-Length: 6} = X-T: 2 ~ GET = X-T: 2 & stored 1",
        "9111 §4.3.5 | a HEAD with another validator makes the stored response stale | GET -> 200 {Cache-Control: max-age=60 & ETag: \"a\"} ~ HEAD [Cache-Control: no-cache] -> 200 {Cache-Control: max-age=60 & ETag: \"b\" & Content-Length: 6} ~ GET -> 200",
        "9111 §4.3.5 | a HEAD with another length makes the stored response stale | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: @-1000} ~ HEAD [Cache-Control: no-cache] -> 200 {Cache-Control: max-age=60 & Last-Modified: @-1000 & Content-Length: 99} ~ GET -> 200",
        "9111 §4 | a response to HEAD does not answer GET | HEAD -> 200 {Cache-Control: max-age=60 & Content-Length: 6} ~ GET -> 200",
    ]

    private static let selectedBy304 = [
        "9111 §4.3.4 | a 304 with the strong tag updates the response that has it | GET -> 200 {Cache-Control: max-age=10 & ETag: \"a\" & X-T: 1} ~ +20 GET -> revalidated {Cache-Control: max-age=60 & ETag: \"a\" & X-T: 2} = X-T: 2 ~ +30 GET = X-T: 2 & stored 1",
        "9111 §4.3.4 | a 304 with the weak stored tag updates | GET -> 200 {Cache-Control: max-age=10 & ETag: W/\"a\"} ~ +20 GET -> revalidated {Cache-Control: max-age=60 & ETag: W/\"a\"} ~ +30 GET",
        "9111 §4.3.4 | a 304 with the stored date updates | GET -> 200 {Cache-Control: max-age=10 & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ +20 GET -> revalidated {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ +30 GET",
        "9111 §4.3.4 | a 304 without validator updates the only stored response | GET -> 200 {Cache-Control: max-age=10 & ETag: \"a\"} ~ +20 GET -> revalidated {Cache-Control: max-age=60} ~ +30 GET",
        "9111 §4.3.2 | a client with another copy gets the new response | GET -> 200 {Cache-Control: max-age=10 & ETag: \"a\"} ~ +20 GET [If-None-Match: \"b\"] -> revalidated {Cache-Control: max-age=10 & ETag: \"a\"} = 200 & stored 1",
        "9111 §4.3.2 | a client with the new copy gets its 304 | GET -> 200 {Cache-Control: max-age=10 & ETag: \"a\"} ~ +20 GET [If-None-Match: \"b\"] -> 200 {Cache-Control: max-age=10 & ETag: \"b\"} = 304 ~ GET = stored 2 & 200 & 'body 2'",
    ]

    private static let requests = [
        "9110 §7.6.1 | a field that Connection names does not reach the origin | GET [Connection: X-Hop & X-Hop: 1] -> 200 = asks no X-Hop",
        "9110 §7.6.1 | Keep-Alive does not reach the origin | GET [Keep-Alive: timeout=5] -> 200 = asks no Keep-Alive",
        "9110 §7.6.1 | Proxy-Connection does not reach the origin | GET [Proxy-Connection: keep-alive] -> 200 = asks no Proxy-Connection",
        "9110 §7.6.1 | Upgrade does not reach the origin | GET [Connection: Upgrade & Upgrade: h2c] -> 200 = asks no Upgrade",
        "9110 §10.1.4 | TE does not reach the origin | GET [Connection: TE & TE: trailers] -> 200 = asks no TE",
        "9110 §11.7.1 | Proxy-Authorization does not reach the origin | GET [Proxy-Authorization: Basic eA==] -> 200 = asks no Proxy-Authorization",
        "9110 §7.6.3 | Via names the gateway to the origin | GET -> 200 = asks Via",
        "9110 §7.6.2 | Max-Forwards counts down for OPTIONS | OPTIONS [Max-Forwards: 3] -> 200 = asks Max-Forwards: 2",
        "9110 §7.6.2 | OPTIONS with Max-Forwards: 0 ends here | OPTIONS [Max-Forwards: 0] = 200 & any body",
        "9110 §7.6.2 | Max-Forwards of GET means nothing | GET [Max-Forwards: 0] -> 200",
    ]

    private static let rights = [
        "9111 §5.2.2.6 | no-transform is passed on and stored | GET -> 200 {Cache-Control: max-age=60, no-transform} = Cache-Control: max-age=60, no-transform ~ GET = Cache-Control: max-age=60, no-transform",
        "9111 §5.2.2.9 | public does not make a response fresh | GET -> 200 {Cache-Control: public} ~ GET -> 200",
        "9111 §5.2.1.6 | no-transform of a request reaches the origin | GET [Cache-Control: no-transform] -> 200",
        "9111 §4.2 | freshness is judged anew at each use | GET -> 200 {Cache-Control: max-age=10} ~ +5 GET ~ +4 GET ~ +2 GET -> 200",
        "9111 §5.1 | Age counts from the origin's own | GET -> 200 {Cache-Control: max-age=60 & Age: 10} ~ +20 GET = Age: 30",
        "9111 §4.2.3 | Age never falls below the time in the store | GET -> 200 {Cache-Control: max-age=60} ~ +20 GET = Age: 20",
        "9111 §5.2.2.2 | must-revalidate passes on an error that has no end | GET -> 200 {Cache-Control: max-age=10, must-revalidate & ETag: \"a\"} ~ +20 GET -> 500",
    ]
}
