// How long a stored response is fresh (RFC 9111 §4.2, §5.1, §5.2.2.1, §5.3).

extension HTTPCase {
    static let freshness: [HTTPCase] =
        maxAge + sharedMaxAge + expires + age + heuristics

    private static let maxAge = [
        "9111 §4.2.1 | max-age makes a response fresh | GET -> 200 {Cache-Control: max-age=60} ~ +59 GET",
        "9111 §4.2.1 | after max-age a response is stale | GET -> 200 {Cache-Control: max-age=60} ~ +61 GET -> 200",
        "9111 §4.2.1 | max-age=0 makes a response stale at once | GET -> 200 {Cache-Control: max-age=0} ~ GET -> 200",
        "9111 §1.2.2 | a max-age beyond 2^31 is as long as 2^31 | GET -> 200 {Cache-Control: max-age=99999999999} ~ +86400 GET",
        "9111 §1.2.2 | a max-age beyond 2^63 is as long as 2^31 | GET -> 200 {Cache-Control: max-age=99999999999999999999} ~ +86400 GET",
        "9111 §4.2.1 | a negative max-age is stale | GET -> 200 {Cache-Control: max-age=-1} ~ GET -> 200",
        "9111 §4.2.1 | a max-age that is no number is stale | GET -> 200 {Cache-Control: max-age=soon} ~ GET -> 200",
        "9111 §4.2.1 | a fraction is no max-age | GET -> 200 {Cache-Control: max-age=3600.5} ~ GET -> 200",
        "9111 §4.2.1 | letters after a number make no max-age | GET -> 200 {Cache-Control: max-age=3600s} ~ GET -> 200",
        "9111 §5.2 | max-age may be quoted | GET -> 200 {Cache-Control: max-age=\"60\"} ~ +1 GET",
        "9111 §5.2 | the name of a directive has any case | GET -> 200 {Cache-Control: MaX-aGe=60} ~ +1 GET",
        "9111 §5.2 | zeros before a number change nothing | GET -> 200 {Cache-Control: max-age=0060} ~ +1 GET",
        "9111 §5.2 | an empty element of the list is skipped | GET -> 200 {Cache-Control: ,, max-age=60,} ~ +1 GET",
        "9111 §5.2 | unknown directives are ignored | GET -> 200 {Cache-Control: foo, bar=1, max-age=60} ~ +1 GET",
        "9111 §5.2 | an unknown directive with a quoted comma is one element | GET -> 200 {Cache-Control: ext=\"a, max-age=0\", max-age=60} ~ +1 GET",
        "9111 §5.2 | a directive inside a quoted string is none | GET -> 200 {Cache-Control: ext=\"max-age=60\"} ~ GET -> 200",
        "9111 §5.2 | a directive whose name ends like max-age is another | GET -> 200 {Cache-Control: x-max-age=60} ~ GET -> 200",
        "9111 §5.2 | a directive whose name begins like max-age is another | GET -> 200 {Cache-Control: max-age-x=60} ~ GET -> 200",
        "9111 §4.2.1 | of two max-ages the first counts: 60 | GET -> 200 {Cache-Control: max-age=60, max-age=1} ~ +30 GET",
        "9111 §4.2.1 | of two max-ages the first counts: 1 | GET -> 200 {Cache-Control: max-age=1, max-age=60} ~ +30 GET -> 200",
        "9110 §5.3 | two lines are one list | GET -> 200 {Cache-Control: foo & Cache-Control: max-age=60} ~ +1 GET",
        "9111 §5.3 | max-age wins over an earlier Expires | GET -> 200 {Cache-Control: max-age=60 & Expires: @-60} ~ +1 GET",
        "9111 §5.3 | max-age wins over a later Expires | GET -> 200 {Cache-Control: max-age=1 & Expires: @3600} ~ +30 GET -> 200",
        "9111 §5.3 | max-age=0 wins over a later Expires | GET -> 200 {Cache-Control: max-age=0 & Expires: @3600} ~ GET -> 200",
        "9111 §4.2.1 | max-age wins over Last-Modified | GET -> 200 {Cache-Control: max-age=1 & Last-Modified: @-864000} ~ +30 GET -> 200",
    ].map(HTTPCase.init)

    private static let sharedMaxAge = [
        "9111 §5.2.2.10 | a shared cache takes s-maxage | GET -> 200 {Cache-Control: s-maxage=60} ~ +30 GET",
        "9111 §5.2.2.10 | in a shared cache s-maxage wins over max-age | GET -> 200 {Cache-Control: max-age=1, s-maxage=60} ~ +30 GET",
        "9111 §5.2.2.10 | in a shared cache a shorter s-maxage wins, too | GET -> 200 {Cache-Control: max-age=60, s-maxage=1} ~ +30 GET -> 200",
        "9111 §5.2.2.10 | in a shared cache s-maxage wins over Expires | GET -> 200 {Cache-Control: s-maxage=60 & Expires: @-60} ~ +30 GET",
        "9111 §5.2.2.10 | in a shared cache s-maxage=0 is stale | GET -> 200 {Cache-Control: s-maxage=0, max-age=60} ~ GET -> 200",
        "9111 §5.2.2.10 | a shared cache with stale s-maxage never serves stale bytes | GET -> 200 {Cache-Control: s-maxage=1} ~ +30 GET [Cache-Control: max-stale] -> 200",
    ].map(HTTPCase.init)

    private static let expires = [
        "9111 §5.3 | Expires makes a response fresh | GET -> 200 {Expires: @60} ~ +59 GET",
        "9111 §5.3 | after Expires a response is stale | GET -> 200 {Expires: @60} ~ +61 GET -> 200",
        "9111 §5.3 | Expires equal to Date is stale | GET -> 200 {Expires: @0} ~ GET -> 200",
        "9111 §5.3 | Expires before Date is stale | GET -> 200 {Expires: @-1} ~ GET -> 200",
        "9111 §5.3 | Expires: 0 is stale | GET -> 200 {Expires: 0} ~ GET -> 200",
        "9111 §5.3 | an invalid Expires is stale | GET -> 200 {Expires: tomorrow} ~ GET -> 200",
        "9111 §5.3 | an invalid Expires is stale in spite of Last-Modified | GET -> 200 {Expires: -1 & Last-Modified: @-864000} ~ GET -> 200",
        "9111 §4.2.1 | Expires is measured from Date | GET -> 200 {Date: @-3600 & Expires: @-3000} ~ GET -> 200",
        "9111 §4.2.3 | Expires without Date is measured from arrival | GET -> 200 {Expires: @60 & no Date: 1} ~ +30 GET",
        "9110 §5.6.7 | an RFC 850 date counts | GET -> 200 {Date: Friday, 15-Jan-27 08:00:00 GMT & Expires: Friday, 15-Jan-27 09:00:00 GMT} ~ +1 GET",
        "9110 §5.6.7 | an asctime date counts | GET -> 200 {Date: Fri Jan 15 08:00:00 2027 & Expires: Fri Jan 15 09:00:00 2027} ~ +1 GET",
        "9110 §5.6.7 | a date in another zone is invalid | GET -> 200 {Expires: Fri, 15 Jan 2027 09:00:00 EST} ~ GET -> 200",
        "9110 §5.6.7 | a date without zone is invalid | GET -> 200 {Expires: Fri, 15 Jan 2027 09:00:00} ~ GET -> 200",
        "9111 §4.2 | the weekday of a date has any case | GET -> 200 {Date: fri, 15 jan 2027 08:00:00 gmt & Expires: fri, 15 jan 2027 09:00:00 gmt} ~ +1 GET",
        "9110 §5.6.7 | a year of two digits in an IMF date is invalid | GET -> 200 {Expires: Fri, 15 Jan 27 09:00:00 GMT} ~ GET -> 200",
        "9110 §5.6.7 | hours of one digit are invalid | GET -> 200 {Expires: Fri, 15 Jan 2027 9:00:00 GMT} ~ GET -> 200",
        "9110 §5.6.7 | dots in the time are invalid | GET -> 200 {Expires: Fri, 15 Jan 2027 09.00.00 GMT} ~ GET -> 200",
        "9110 §5.6.7 | a date with two spaces is invalid | GET -> 200 {Expires: Fri, 15  Jan 2027 09:00:00 GMT} ~ GET -> 200",
        "9110 §5.6.7 | dashes in an IMF date are invalid | GET -> 200 {Expires: Fri, 15-Jan-2027 09:00:00 GMT} ~ GET -> 200",
    ].map(HTTPCase.init)

    private static let age = [
        "9111 §4.2.3 | Age shortens freshness | GET -> 200 {Cache-Control: max-age=60 & Age: 50} ~ +20 GET -> 200",
        "9111 §4.2.3 | a small Age leaves the rest | GET -> 200 {Cache-Control: max-age=60 & Age: 30} ~ +20 GET = Age: 50",
        "9111 §4.2.3 | an Age equal to max-age is stale | GET -> 200 {Cache-Control: max-age=60 & Age: 60} ~ GET -> 200",
        "9111 §4.2.3 | an old Date counts as age | GET -> 200 {Cache-Control: max-age=60 & Date: @-100} ~ GET -> 200",
        "9111 §4.2.3 | a Date in the future adds no age | GET -> 200 {Cache-Control: max-age=60 & Date: @100} ~ +30 GET = Age: 30",
        "9111 §5.1 | of a list of ages the first counts | GET -> 200 {Cache-Control: max-age=60 & Age: 0, 100} ~ +10 GET = Age: 10",
        "9111 §5.1 | of two lines of Age the first counts | GET -> 200 {Cache-Control: max-age=60 & Age: 100 & Age: 0} ~ GET -> 200",
        "9111 §5.1 | an Age that is no number is ignored | GET -> 200 {Cache-Control: max-age=60 & Age: old} ~ +10 GET = Age: 10",
        "9111 §5.1 | a negative Age is ignored | GET -> 200 {Cache-Control: max-age=60 & Age: -100} ~ +10 GET = Age: 10",
        "9111 §5.1 | a fraction is no Age | GET -> 200 {Cache-Control: max-age=60 & Age: 100.5} ~ +10 GET = Age: 10",
        "9111 §1.2.2 | an Age beyond 2^31 is stale | GET -> 200 {Cache-Control: max-age=60 & Age: 2147483649} ~ GET -> 200",
        "9111 §1.2.2 | an Age beyond 2^63 is stale | GET -> 200 {Cache-Control: max-age=60 & Age: 99999999999999999999} ~ GET -> 200",
        "9111 §5.1 | a stored response has Age | GET -> 200 {Cache-Control: max-age=60} ~ +7 GET = Age: 7",
        "9111 §4.2.3 | Age shortens Expires | GET -> 200 {Expires: @60 & Age: 100} ~ GET -> 200",
    ].map(HTTPCase.init)

    private static let heuristics =
        [
            "9111 §4.2.2 | a tenth of the time since Last-Modified is fresh | GET -> 200 {Last-Modified: @-1000} ~ +90 GET",
            "9111 §4.2.2 | more than a tenth is stale | GET -> 200 {Last-Modified: @-1000} ~ +110 GET -> 200",
            "9111 §4.2.2 | without Last-Modified nothing is fresh | GET -> 200 ~ GET -> 200",
            "9111 §4.2.2 | a Last-Modified in the future is no base | GET -> 200 {Last-Modified: @1000} ~ GET -> 200",
            "9111 §4.2.2 | an invalid Last-Modified is no base | GET -> 200 {Last-Modified: long ago} ~ GET -> 200",
            "9111 §4.2.2 | public permits the heuristic for any status | GET -> 403 {Last-Modified: @-864000 & Cache-Control: public} ~ +10 GET",
            "9111 §4.2.2 | a heuristic ends after a day | GET -> 200 {Last-Modified: @-86400000} ~ +86500 GET -> 200",
        ].map(HTTPCase.init)
        + [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].map {
            HTTPCase("9110 §15.1 | status \($0) is heuristically cacheable | GET -> \($0) {Last-Modified: @-864000} ~ +10 GET")
        }
        + [201, 202, 302, 303, 307, 400, 403, 429, 500, 502, 503, 504, 599].map {
            HTTPCase("9110 §15.1 | status \($0) is not heuristically cacheable | GET -> \($0) {Last-Modified: @-864000} ~ +10 GET -> \($0)")
        }
}
