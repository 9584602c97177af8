internal import Spool
internal import SpoolCore
internal import SpoolTesting

/// The cases about refusals and the rules on storing.
enum AnswerCases {
    /// The response of a hotel network to every request before its guest has signed in.
    private static let page = OriginBehaviour.status(
        200, fields: ["Content-Type": "text/html", "Cache-Control": "max-age=600"], body: Array("<p>Welcome</p>".utf8))

    private static let reload = OriginCase.Step.ask(.init(ranges: [.init(0, nil)], isReload: true))

    /// Rows 46 to 50 and 52, and the further cases.
    static let all: [OriginCase] = [
        OriginCase(
            "46", "is busy at first, and sends Retry-After",
            [.follow([.status(503, fields: ["Retry-After": "5"]), .correct]), .get(), .get()],
            answers: "503; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 0-"
        ).flowing.loader(answers: "0-99999 of v1; 0-99999 of v1"),
        OriginCase(
            "46", "is busy in the middle of a play, and sends Retry-After",
            [.follow([.cut(afterBytes: 30_000, .close, .correct), .status(429, fields: ["Retry-After": "5"]), .correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "v1", 30000- if "v1""#
        ).flowing(after: 30_000),
        OriginCase(
            "46", "is busy, and sends a Retry-After of an hour",
            [.follow([.cut(afterBytes: 30_000, .close, .correct), .status(503, fields: ["Retry-After": "3600"])]), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1", requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000).withoutRepeats,
        OriginCase(
            "47", "fails when Spool revalidates stored bytes",
            [.get(), .follow([.status(500)]), reload],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 0- unless "v1""#),
        OriginCase(
            "47", "is out of reach when part is stored",
            OriginCase.stored30000 + [.offline(true), .get(to: 30_000), .get(50_000), .offline(false), .get()],
            answers: "206 0-29999 of v1; 206 0-29999 of v1; 502; 200 0-99999 of v1", stored: "0-99999 of v1, all",
            requests: #"0-, 50000- if "v1", 30000- if "v1""#
        ).withoutRepeats.socket(requests: #"0-, 30000- if "v1""#),
        OriginCase(
            "48", "answers 404 when Spool revalidates stored bytes",
            [.get(), .follow([.status(404)]), reload],
            answers: "200 0-99999 of v1; 404", stored: "0-99999 of v1, all", requests: #"0-, 0- unless "v1""#),
        OriginCase(
            "49", "answers 304 with new fields",
            [.get(), .follow([.status(304, fields: ["ETag": "\"v1\"", "X-New": "1", "Content-Length": "5"])]), reload],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 0- unless "v1""#),
        OriginCase(
            "49", "answers 304 with another entity tag",
            [.get(), .follow([.status(304, fields: ["ETag": "\"v2\""]), .correct]), reload],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 0- unless "v1", 0-"#),
        OriginCase(
            "50", "forbids to store",
            [.follow([.fields(["Cache-Control": "no-store"], .correct)]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "nothing", requests: "0-, 0-"),
        OriginCase(
            "50", "sends private to a cache of one user",
            [.follow([.fields(["Cache-Control": "private"], .correct)]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "50", "sends private to a cache of several users",
            [.follow([.fields(["Cache-Control": "private"], .correct)]), .get()],
            answers: "200 0-99999 of v1", stored: "nothing", requests: "0-"
        ).configured { $0.freshness.isShared = true }.loader(requests: #"0-, 0- if "v1""#),
        OriginCase(
            "50", "varies by everything",
            [.follow([.fields(["Vary": "*"], .correct)]), .get()],
            answers: "200 0-99999 of v1", stored: "nothing", requests: "0-"),
        OriginCase(
            "50", "is asked with credentials by a cache of several users",
            [.get()],
            answers: "200 0-99999 of v1", stored: "nothing", requests: "0- with credentials"
        ).configured { configuration in
            configuration.freshness.isShared = true
            configuration.network.requestFields = ["Authorization": "Bearer 1"]
        }.loader(requests: #"0- with credentials, 0- if "v1" with credentials"#),
        OriginCase(
            "50", "sets a cookie",
            [.follow([.fields(["Set-Cookie": "id=1"], .correct)]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "52", "has an IPv6 address",
            [.get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"
        ).of { $0.url = "http://[2001:db8::1]:8000/song.mp3" },
        OriginCase(
            "F1", "answers with a page of its hotel",
            [
                .follow([page, .correct]), .get(), .get(),
            ],
            answers: "200 '<p>Welcome</p>'; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 0-"
        ).loader(answers: "the original; 0-99999 of v1", requests: "0-, 0-"),
        OriginCase(
            "F1", "answers with a page in the middle of a play",
            [.follow([.cut(afterBytes: 30_000, .close, .correct), page, .correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "v1", 30000- if "v1""#
        ).flowing(after: 30_000),
        OriginCase(
            "F1", "answers with a page when Spool asks for the rest of a stored resource",
            OriginCase.stored30000 + [.follow([page, .correct]), .get(50_000, to: 60_000), .get(to: 30_000)],
            answers: "206 0-29999 of v1; 200 '<p>Welcome</p>'; 206 0-29999 of v1", stored: "0-29999 of v1",
            requests: #"0-, 50000-59999 if "v1""#
        ).on([.http, .socket]),
        OriginCase(
            "F3", "sends Accept-Ranges: none, and serves ranges",
            [.follow([.fields(["Accept-Ranges": "none"], .correct)]), .get(50_000, to: 60_000), .get()],
            answers: "206 50000-59999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all",
            requests: #"50000-59999, 0-49999 if "v1", 60000- if "v1""#
        ).loader(requests: "0-"),
        OriginCase(
            "F4", "has a Content-Range in a 200",
            [.follow([.fields(["Content-Range": "bytes 5-9/10"], .ignoresRange)]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "F4", "answers with a part and calls it the whole",
            [
                .follow([
                    .status(200, fields: ["Content-Range": "bytes 0-6/100000"], body: Array("partial".utf8)), .correct,
                ]), .get(),
            ],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, whole"
        ).flowing,
        OriginCase(
            "F5", "grows while it is played",
            [
                .follow([
                    .fields(["Content-Range": "bytes 0-29999/*"], .shorterRange(maxBytes: 30_000)),
                    .fields(["Content-Range": "bytes 30000-99999/*"], .correct), .correct,
                ]), .get(),
            ],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "v1", 100000- if "v1""#
        ).loader(answers: "the original", stored: "nothing", requests: "0-"),
        OriginCase(
            "F6", "sends other bytes to another player, without Vary",
            [
                .agent("Other/2", .status(200, fields: ["ETag": "\"v2\""], body: OriginCase.song.content.bytes(at: 0, count: 1000))),
                .ask(.init(ranges: [.init(0, nil)], agent: "Player/1")), .ask(.init(ranges: [.init(0, nil)], agent: "Other/2")),
            ],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"
        ).on([.http, .socket]),
        OriginCase(
            "F7", "writes Content-Range in its own way",
            [.follow([.fields(["content-range": "Bytes  0-99999/100000 "], .correct)]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "F11", "sends no more than so much in one answer",
            [.follow([.shorterRange(maxBytes: 60_000)]), .get(20_000)],
            answers: "206 20000-99999 of v1", stored: "20000-99999 of v1", requests: #"20000-, 80000- if "v1""#
        ).loader(stored: "0-99999 of v1, all", requests: #"0-, 60000- if "v1""#),
        OriginCase(
            "F12", "takes one connection at a time",
            [.follow([.cut(afterBytes: 30_000, .close, .correct), .status(429), .status(429), .correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all",
            requests: #"0-, 30000- if "v1", 30000- if "v1", 30000- if "v1""#
        ).flowing(after: 30_000),
        OriginCase(
            "F13", "has a clock that is wrong by years, and a negative Age",
            [
                .follow([.fields(["Age": "-5", "Date": "Fri, 01 Jan 2038 00:00:00 GMT", "Cache-Control": "max-age=60"], .correct)]), .get(),
                .get(),
            ],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "F14", "has a name that can't be found, and then can",
            [.offline(true), .get(), .offline(false), .get()],
            answers: "502; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 0-"
        ).on([.http, .loader]).loader(requests: "0-, 0-, 0-, 0-"),
    ]
}
