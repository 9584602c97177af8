// Methods, invalidation, partial content and Vary (RFC 9110 §9, §14; RFC 9111 §3.3, §3.4, §4.1, §4.4).

extension HTTPCase {
    static let methods: [HTTPCase] = invalidation + others.map(HTTPCase.init)
    static let parts: [HTTPCase] = partial.map(HTTPCase.init)

    private static let invalidation =
        ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"].flatMap { method in
            [
                HTTPCase("9111 §4.4 | \(method) invalidates | GET -> 200 {Cache-Control: max-age=60} ~ \(method) -> 200 ~ GET -> 200"),
                HTTPCase(
                    "9111 §4.4 | a failed \(method) does not invalidate | GET -> 200 {Cache-Control: max-age=60} ~ \(method) -> 500 ~ GET"),
                HTTPCase(
                    "9111 §4.4 | \(method) invalidates its Location | GET /l -> 200 {Cache-Control: max-age=60} ~ \(method) /r -> 201 {Location: /l} ~ GET /l -> 200"
                ),
                HTTPCase(
                    "9111 §4.4 | \(method) invalidates its Content-Location | GET /l -> 200 {Cache-Control: max-age=60} ~ \(method) /r -> 200 {Content-Location: /l} ~ GET /l -> 200"
                ),
            ]
        }
        + [
            "9111 §4.4 | a failed POST does not invalidate its Location | GET /l -> 200 {Cache-Control: max-age=60} ~ POST /r -> 500 {Location: /l} ~ GET /l",
            "9111 §4.4 | another host in Location is not invalidated | GET /l -> 200 {Cache-Control: max-age=60} ~ POST /r -> 200 {Location: http://other.example/l} ~ GET /l",
            "9111 §4.4 | a redirect of POST invalidates | GET -> 200 {Cache-Control: max-age=60} ~ POST -> 303 {Location: /x} ~ GET -> 200",
            #"9111 §4.4 | invalidated bytes are validated, not lost | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ POST -> 204 ~ GET -> revalidated = asks If-None-Match: "a""#,
            "9111 §4.4 | invalidated bytes are not used stale | GET -> 200 {Cache-Control: max-age=60} ~ POST -> 204 ~ GET [Cache-Control: max-stale] -> 200",
            "9111 §4.4 | OPTIONS does not invalidate | GET -> 200 {Cache-Control: max-age=60} ~ OPTIONS -> 200 ~ GET",
        ].map(HTTPCase.init)

    private static let others = [
        "9110 §9.3.3 | POST reaches the origin with its body | POST <hello> -> 201 {X-Test: 1} = X-Test: 1",
        "9111 §4 | POST is not answered from the store | GET -> 200 {Cache-Control: max-age=60} ~ POST -> 200",
        "9111 §3 | a response to POST does not answer GET | POST -> 200 {Cache-Control: max-age=60} ~ GET -> 200",
        "9110 §9.3.4 | PUT reaches the origin with its body | PUT <hello> -> 204",
        "9110 §9.3.5 | DELETE reaches the origin | DELETE -> 204",
        "9110 §9.1 | an unknown method reaches the origin | PURGE -> 200",
        "9110 §9.3.7 | OPTIONS reaches the origin | OPTIONS -> 200 {Allow: GET}",
        "9110 §15 | an error of POST keeps its body | POST <x> -> 422 'wrong field'",
        "9110 §15.3.5 | 204 has no body | GET -> 204 {X-Test: 1} = X-Test: 1",
        "9110 §15.3.6 | 205 has no body | GET -> 205 '' = ''",
        "9110 §15.3.2 | 201 is passed on | GET -> 201 {Location: /new} 'made' = Location: /new",
        "9110 §15.3.3 | 202 is passed on | GET -> 202 'later'",
        "9110 §15 | an unknown status of the 2xx is passed on | GET -> 277 'hm'",
        "9110 §15 | an unknown status of the 4xx is passed on | GET -> 477 'hm'",
        "9110 §15 | a status above 599 is passed on | GET -> 799 'hm'",
        "9110 §15.5 | a 404 keeps fields and body | GET -> 404 {X-Test: 1 & Content-Type: text/html} '<p>no</p>' = X-Test: 1 & Content-Type: text/html",
        "9110 §15.5.2 | a 401 keeps its challenge and body | GET -> 401 {WWW-Authenticate: Basic realm=x} 'who' = WWW-Authenticate: Basic realm=x",
        "9110 §15.6 | a 500 keeps its body | GET -> 500 'sorry'",
        "9110 §15.6.4 | a 503 keeps Retry-After and body | GET -> 503 {Retry-After: 1} 'busy' = Retry-After: 1",
        "9110 §15.4 | a redirect goes to the client | GET -> 302 {Location: /there} 'go' = Location: /there",
        "9110 §10.2.2 | a Location at the origin becomes one at the gateway | GET -> 302 {Location: http://site.example/there?x#y} = Location: /there?x#y",
        "9110 §10.2.2 | a Location elsewhere stays | GET -> 302 {Location: http://other.example/there} = Location: http://other.example/there",
        "9110 §15.4.1 | 300 is passed on | GET -> 300 'choose'",
        "9110 §9.3.2 | HEAD of an unknown resource has its fields | HEAD -> 200 {X-Test: 1} = X-Test: 1",
        "9110 §9.3.2 | HEAD of an error has its status | HEAD -> 404",
    ]

    private static let partial = [
        "9110 §14.2 | a stored whole answers a range | GET -> 200 {Cache-Control: max-age=60} '0123456789' ~ GET [Range: bytes=2-4] = 206 & '234' & Content-Range: bytes 2-4/10 & Content-Length: 3",
        "9110 §14.1.2 | an open range ends with the resource | GET -> 200 {Cache-Control: max-age=60} '0123456789' ~ GET [Range: bytes=7-] = 206 & '789'",
        "9110 §14.1.2 | a suffix is the end | GET -> 200 {Cache-Control: max-age=60} '0123456789' ~ GET [Range: bytes=-2] = 206 & '89' & Content-Range: bytes 8-9/10",
        "9110 §14.1.2 | a long suffix is the whole | GET -> 200 {Cache-Control: max-age=60} '0123456789' ~ GET [Range: bytes=-20] = 206 & '0123456789' & Content-Range: bytes 0-9/10",
        "9110 §14.1.2 | a last position beyond the end is clipped | GET -> 200 {Cache-Control: max-age=60} '0123456789' ~ GET [Range: bytes=8-99] = 206 & '89'",
        "9110 §14.2 | an invalid range is ignored | GET -> 200 {Cache-Control: max-age=60} '0123456789' ~ GET [Range: bytes=5-2]",
        "9110 §14.1 | a range in another unit goes to the origin, which may know it | GET -> 200 {Cache-Control: max-age=60} '0123456789' ~ GET [Range: lines=1-2] -> 206 {Content-Range: lines 1-2/9} '45' = asks Range: lines=1-2 ~ GET",
        "9110 §15.5.17 | a range behind the end is not satisfiable | GET -> 200 {Cache-Control: max-age=60} '0123456789' ~ GET [Range: bytes=10-] = 416 & Content-Range: bytes */10 & any body",
        "9110 §14.1.2 | a suffix of nothing is not satisfiable | GET -> 200 {Cache-Control: max-age=60} '0123456789' ~ GET [Range: bytes=-0] = 416 & any body",
        "9110 §14.3 | the answer offers ranges | GET -> 200 {Cache-Control: max-age=60} = Accept-Ranges: bytes",
        "9111 §3.3 | a stored part answers the same range | GET [Range: bytes=2-5] -> 206 {Cache-Control: max-age=60 & Content-Range: bytes 2-5/10} '2345' = 206 ~ GET [Range: bytes=2-5] = 206 & '2345'",
        "9111 §3.3 | a stored part answers a smaller range | GET [Range: bytes=2-5] -> 206 {Cache-Control: max-age=60 & Content-Range: bytes 2-5/10} '2345' ~ GET [Range: bytes=3-4] = 206 & '34' & Content-Range: bytes 3-4/10",
        "9111 §3.3 | a stored end answers an open range | GET [Range: bytes=6-9] -> 206 {Cache-Control: max-age=60 & Content-Range: bytes 6-9/10} '6789' ~ GET [Range: bytes=7-] = 206 & '789'",
        "9111 §3.3 | a stored end answers a suffix | GET [Range: bytes=6-9] -> 206 {Cache-Control: max-age=60 & Content-Range: bytes 6-9/10} '6789' ~ GET [Range: bytes=-2] = 206 & '89'",
        "9111 §3.3 | an unknown suffix is asked for as such | GET [Range: bytes=-4] -> 206 {Cache-Control: max-age=60 & Content-Range: bytes 6-9/10} '6789' = asks Range: bytes=-4",
        "9111 §3.3 | a stored suffix answers the same suffix | GET [Range: bytes=-4] -> 206 {Cache-Control: max-age=60 & Content-Range: bytes 6-9/10} '6789' ~ GET [Range: bytes=-4] = 206 & '6789'",
        "9111 §3.3 | a stored suffix answers a smaller one | GET [Range: bytes=-4] -> 206 {Cache-Control: max-age=60 & Content-Range: bytes 6-9/10} '6789' ~ GET [Range: bytes=-2] = 206 & '89'",
        "9111 §3.3 | a stored suffix answers a range in it | GET [Range: bytes=-4] -> 206 {Cache-Control: max-age=60 & Content-Range: bytes 6-9/10} '6789' ~ GET [Range: bytes=7-8] = 206 & '78'",
        "9111 §3.3 | a stored suffix answers an open range in it | GET [Range: bytes=-4] -> 206 {Cache-Control: max-age=60 & Content-Range: bytes 6-9/10} '6789' ~ GET [Range: bytes=8-] = 206 & '89'",
        #"9111 §3.4 | a part with a strong tag is completed | GET [Range: bytes=0-4] -> 206 {Cache-Control: max-age=60 & ETag: "a" & Content-Range: bytes 0-4/10} '01234' ~ GET -> 206 {ETag: "a" & Content-Range: bytes 5-9/10} '56789' = 200 & '0123456789' & asks Range: bytes=5- & asks If-Range: "a""#,
        "9111 §3.4 | a part with a weak tag is not completed | GET [Range: bytes=0-4] -> 206 {Cache-Control: max-age=60 & ETag: W/\"a\" & Content-Range: bytes 0-4/10} '01234' ~ GET -> 200 '0123456789'",
        #"9111 §3.4 | a completed part is reused as a whole | GET [Range: bytes=0-4] -> 206 {Cache-Control: max-age=60 & ETag: "a" & Content-Range: bytes 0-4/10} '01234' ~ GET -> 206 {Cache-Control: max-age=60 & ETag: "a" & Content-Range: bytes 5-9/10} '56789' = 200 & '0123456789' ~ GET = 200 & '0123456789'"#,
        #"9111 §3.3 | a stored part does not answer for missing bytes | GET [Range: bytes=0-4] -> 206 {Cache-Control: max-age=60 & ETag: "a" & Content-Range: bytes 0-4/10} '01234' ~ GET [Range: bytes=5-9] -> 206 {ETag: "a" & Content-Range: bytes 5-9/10} '56789'"#,
        #"9111 §3.3 | a stale part is validated | GET [Range: bytes=0-4] -> 206 {Cache-Control: max-age=10 & ETag: "a" & Content-Range: bytes 0-4/10} '01234' ~ +20 GET [Range: bytes=0-4] -> revalidated {ETag: "a"} = 206 & '01234'"#,
        "9110 §15.3.7 | a part has the fields of the whole | GET -> 200 {Cache-Control: max-age=60 & X-Test: 1 & ETag: \"a\"} '0123456789' ~ GET [Range: bytes=2-4] = 206 & '234' & X-Test: 1 & ETag: \"a\"",
        "9110 §14.2 | a range does not apply to an error | GET -> 404 {Cache-Control: max-age=60} 'nothing' ~ GET [Range: bytes=0-1] = 'nothing'",
    ]
}
