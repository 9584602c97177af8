// Conditions of clients, validation by the cache, and what a 304 or a HEAD updates (RFC 9110 §13, RFC 9111 §3.2, §4.3).

extension HTTPCase {
    static let validation: [HTTPCase] = (tags + dates + updates + own).map(HTTPCase.init)

    private static let tags = [
        #"9110 §13.1.2 | a matching tag is not modified | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-None-Match: "a"] = 304 & ETag: "a""#,
        #"9110 §13.1.2 | another tag gets the body | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-None-Match: "b"]"#,
        #"9110 §13.1.2 | one of several tags is enough | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-None-Match: "x", "a" , "y"] = 304"#,
        #"9110 §13.1.2 | tags on two lines are one list | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-None-Match: "x" & If-None-Match: "a"] = 304"#,
        #"9110 §13.1.2 | a tag may contain a comma | GET -> 200 {Cache-Control: max-age=60 & ETag: "a,b"} ~ GET [If-None-Match: "x", "a,b"] = 304"#,
        #"9110 §13.1.2 | an asterisk matches any stored response | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-None-Match: *] = 304"#,
        #"9110 §13.1.2 | an asterisk matches a response without tag | GET -> 200 {Cache-Control: max-age=60} ~ GET [If-None-Match: *] = 304"#,
        #"9110 §8.8.3.2 | If-None-Match compares weakly: weak with strong | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-None-Match: W/"a"] = 304"#,
        #"9110 §8.8.3.2 | If-None-Match compares weakly: strong with weak | GET -> 200 {Cache-Control: max-age=60 & ETag: W/"a"} ~ GET [If-None-Match: "a"] = 304"#,
        #"9110 §8.8.3.2 | If-None-Match compares weakly: weak with weak | GET -> 200 {Cache-Control: max-age=60 & ETag: W/"a"} ~ GET [If-None-Match: W/"a"] = 304"#,
        #"9110 §8.8.3 | tags have their case | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-None-Match: "A"]"#,
        #"9110 §13.2.1 | conditions do not apply to an error | GET -> 404 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-None-Match: "a"]"#,
        #"9110 §15.4.5 | a 304 has the fields that a cache needs | GET -> 200 {Cache-Control: max-age=60 & ETag: "a" & Content-Location: /c & Expires: @90 & Vary: X-V} ~ GET [If-None-Match: "a"] = 304 & Cache-Control: max-age=60 & Content-Location: /c & Vary: X-V & Expires: @90 & Date"#,
        #"9110 §15.4.5 | a 304 has no length of a body | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-None-Match: "a"] = 304 & no Content-Length"#,
        #"9111 §4.3.2 | a stale response is validated first, then compared | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET [If-None-Match: "a"] -> revalidated {Cache-Control: max-age=10 & ETag: "a"} = 304"#,
        #"9111 §4.3.2 | a client without stored bytes gets its 304 | GET [If-None-Match: "a"] -> 200 {ETag: "a"} = 304"#,
        #"9110 §13.1.2 | a tag that only the client has goes to the origin | GET [If-None-Match: "a"] -> 304 {ETag: "a"} = asks If-None-Match: "a" & ETag: "a""#,
        #"9110 §13.1.2 | the next client gets the body | GET [If-None-Match: "a"] -> 304 {ETag: "a"} ~ GET -> 200 = asks no If-None-Match ~ GET [If-None-Match: "b", "c"] -> 200 = asks no If-None-Match"#,
        #"9110 §13.1.1 | If-Match with the stored tag gets the body | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-Match: "b", "a"]"#,
        #"9110 §13.1.1 | If-Match with another tag asks the origin first | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-Match: "b"] -> revalidated = asks If-None-Match: "a" & 412 & any body"#,
        #"9110 §13.1.1 | If-Match finds the version that the origin has now | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [If-Match: "b" & Range: bytes=0-2] -> 200 {ETag: "b"} = 206 & 'bod'"#,
        #"9110 §13.1.1 | If-Match without a stored version is judged by the new one | GET [If-Match: "b"] -> 200 {ETag: "a"} = 412 & any body"#,
        #"9110 §13.1.5 | If-Range with the tag gets the part | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [Range: bytes=0-2 & If-Range: "a"] = 206 & 'bod'"#,
        #"9110 §13.1.5 | If-Range with another tag gets the whole | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [Range: bytes=0-2 & If-Range: "b"]"#,
        #"9110 §13.1.5 | If-Range compares strongly | GET -> 200 {Cache-Control: max-age=60 & ETag: W/"a"} ~ GET [Range: bytes=0-2 & If-Range: W/"a"]"#,
        #"9110 §13.2.2 | If-None-Match comes before Range | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [Range: bytes=0-2 & If-None-Match: "a"] = 304"#,
        #"9110 §13.2.2 | Range counts when the tag differs | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ GET [Range: bytes=0-2 & If-None-Match: "b"] = 206 & 'bod'"#,
    ]

    private static let dates = [
        "9110 §13.1.3 | an equal date is not modified | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ GET [If-Modified-Since: Thu, 14 Jan 2027 08:00:00 GMT] = 304",
        "9110 §13.1.3 | a later date is not modified | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ GET [If-Modified-Since: Thu, 14 Jan 2027 09:00:00 GMT] = 304",
        "9110 §13.1.3 | an earlier date gets the body | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ GET [If-Modified-Since: Thu, 14 Jan 2027 07:00:00 GMT]",
        "9110 §13.1.3 | an invalid date is ignored | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ GET [If-Modified-Since: yesterday]",
        #"9110 §13.1.3 | a date is ignored beside a tag | GET -> 200 {Cache-Control: max-age=60 & ETag: "a" & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ GET [If-Modified-Since: Thu, 14 Jan 2027 08:00:00 GMT & If-None-Match: "b"]"#,
        "9111 §4.3.2 | without Last-Modified the date is compared with Date | GET -> 200 {Cache-Control: max-age=60 & Date: @0} ~ +10 GET [If-Modified-Since: @-5] = 304",
        "9110 §13.1.4 | If-Unmodified-Since before the last change fails | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ GET [If-Unmodified-Since: Thu, 14 Jan 2027 07:00:00 GMT] -> revalidated = 412 & any body",
        "9110 §13.1.4 | If-Unmodified-Since after the last change gets the body | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ GET [If-Unmodified-Since: Thu, 14 Jan 2027 08:00:00 GMT]",
        "9110 §13.1.3 | an RFC 850 date counts | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 08:00:00 GMT} ~ GET [If-Modified-Since: Thursday, 14-Jan-27 08:00:00 GMT] = 304",
        "9110 §13.1.5 | If-Range with the date gets the part | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 07:00:00 GMT} ~ GET [Range: bytes=0-2 & If-Range: Thu, 14 Jan 2027 07:00:00 GMT] = 206 & 'bod'",
        "9110 §13.1.5 | If-Range with a later date gets the whole | GET -> 200 {Cache-Control: max-age=60 & Last-Modified: Thu, 14 Jan 2027 07:00:00 GMT} ~ GET [Range: bytes=0-2 & If-Range: Thu, 14 Jan 2027 08:00:00 GMT]",
    ]

    private static let own = [
        #"9111 §4.3.1 | a stale response is validated by its tag | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> revalidated = asks If-None-Match: "a""#,
        #"9111 §4.3.1 | a weak tag validates, too | GET -> 200 {Cache-Control: max-age=10 & ETag: W/"a"} ~ +20 GET -> revalidated = asks If-None-Match: W/"a""#,
        "9111 §4.3.1 | a stale response is validated by its date | GET -> 200 {Cache-Control: max-age=10 & Last-Modified: @-1000} ~ +20 GET -> revalidated = asks If-Modified-Since",
        #"9111 §4.3.1 | tag and date go together | GET -> 200 {Cache-Control: max-age=10 & ETag: "a" & Last-Modified: @-1000} ~ +20 GET -> revalidated = asks If-None-Match: "a" & asks If-Modified-Since"#,
        #"9111 §4.3.3 | a new response replaces the old one | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> 200 {Cache-Control: max-age=10 & ETag: "b"} ~ GET = stored 2 & ETag: "b""#,
        #"9111 §4.3.3 | a 404 to a validation is passed on | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> 404 ~ GET -> 404"#,
        #"9111 §4.3.3 | a 403 to a validation is passed on | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> 403 'no'"#,
        #"9111 §4.3.3 | a refusal with a lifetime does not delete what is stored | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> 403 {Cache-Control: max-age=60} 'no' ~ GET -> revalidated = asks If-None-Match: "a""#,
        #"9111 §4.3.3 | after a refusal stored bytes stand in for a failing origin | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> 401 {Cache-Control: max-age=60} 'no' ~ GET -> 503 = 200 & stored 1"#,
        #"9111 §4.3.3 | a redirect with a lifetime does not delete what is stored | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> 302 {Cache-Control: max-age=60 & Location: /sign-in} ~ GET -> revalidated"#,
        #"9111 §4.3.3 | a 404 with a lifetime takes the place of what was stored | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> 404 {Cache-Control: max-age=60} ~ GET = stored 2"#,
        "9111 §4.3.1 | without validator the request has no condition | GET -> 200 {Cache-Control: max-age=10} ~ +20 GET -> 200 = asks no If-None-Match & asks no If-Modified-Since",
        "9111 §4.3.1 | a stored error is validated as well | GET -> 404 {Cache-Control: max-age=10 & ETag: \"a\"} ~ +20 GET -> revalidated",
    ]

    private static let updates = [
        #"9111 §3.2 | a 304 makes the response fresh again | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> revalidated {Cache-Control: max-age=60 & ETag: "a"} ~ +30 GET"#,
        #"9111 §3.2 | a 304 without new fields keeps the lifetime | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> revalidated ~ +5 GET"#,
        #"9111 §3.2 | a 304 updates a field | GET -> 200 {Cache-Control: max-age=10 & ETag: "a" & X-Test: 1} ~ +20 GET -> revalidated {X-Test: 2 & ETag: "a"} = X-Test: 2 ~ GET = X-Test: 2"#,
        #"9111 §3.2 | a 304 adds a field | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> revalidated {X-New: 2 & ETag: "a"} = X-New: 2 ~ GET = X-New: 2"#,
        #"9111 §3.2 | a 304 keeps the fields that it lacks | GET -> 200 {Cache-Control: max-age=10 & ETag: "a" & X-Test: 1} ~ +20 GET -> revalidated = X-Test: 1"#,
        #"9111 §3.2 | a 304 does not update Content-Length | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> revalidated {Content-Length: 99} = Content-Length: 6"#,
        #"9111 §3.2 | a 304 does not update Content-Encoding | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> revalidated {Content-Encoding: gzip} = no Content-Encoding"#,
        #"9111 §3.2 | a 304 does not update Content-Range | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> revalidated {Content-Range: bytes 0-1/2} = no Content-Range"#,
        #"9111 §3.2 | a 304 updates Content-Security-Policy | GET -> 200 {Cache-Control: max-age=10 & ETag: "a" & Content-Security-Policy: default-src a} ~ +20 GET -> revalidated {Content-Security-Policy: default-src b} = Content-Security-Policy: default-src b"#,
        #"9111 §3.2 | a 304 updates Content-Language | GET -> 200 {Cache-Control: max-age=10 & ETag: "a" & Content-Language: de} ~ +20 GET -> revalidated {Content-Language: en} = Content-Language: en"#,
        #"9111 §3.2 | a 304 updates Date | GET -> 200 {Cache-Control: max-age=10 & ETag: "a"} ~ +20 GET -> revalidated {Date: @0} = Date: @0 & Age: 0"#,
        #"9111 §3.2 | a 304 updates Expires | GET -> 200 {Expires: @10 & ETag: "a"} ~ +20 GET -> revalidated {Expires: @60 & ETag: "a"} ~ +30 GET"#,
        #"9111 §4.3.5 | a HEAD is answered from a stored GET | GET -> 200 {Cache-Control: max-age=60 & X-Test: 1} ~ HEAD = X-Test: 1 & Content-Length: 6"#,
        #"9111 §4.3.5 | a HEAD with a matching tag is not modified | GET -> 200 {Cache-Control: max-age=60 & ETag: "a"} ~ HEAD [If-None-Match: "a"] = 304"#,
        #"9110 §9.3.2 | Range means nothing for HEAD | GET -> 200 {Cache-Control: max-age=60} ~ HEAD [Range: bytes=0-1] = 200 & Content-Length: 6"#,
        #"9110 §9.3.2 | a stored error answers HEAD | GET -> 404 {Cache-Control: max-age=60} ~ HEAD = 404 & Content-Length: 6"#,
    ]
}
