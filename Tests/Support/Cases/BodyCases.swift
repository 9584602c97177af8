internal import SpoolCore
internal import SpoolTesting

/// The cases about bodies, their framing, and their ends.
enum BodyCases {
    private static func raw(_ head: String, _ body: [UInt8] = []) -> OriginBehaviour {
        .raw(Array(head.utf8) + body)
    }

    private static let whole = OriginCase.song.content.bytes(at: 0, count: Int(OriginCase.song.length))

    /// Rows 12 to 15, 23, 24, 29 to 32, 40 to 45 and 51.
    static let all: [OriginCase] = [
        OriginCase(
            "12", "closes before the end of its Content-Length",
            [.follow([.cut(afterBytes: 30_000, .close, .correct), .correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000),
        OriginCase(
            "13", "ends a chunked body without its last chunk",
            [.follow([.cut(afterBytes: 30_000, .close, .unknownLength(.chunked, .ignoresRange)), .correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000).loader(answers: "the original", stored: "nothing", requests: "0-"),
        OriginCase(
            "14", "ends a body without length by closing",
            [.follow([.unknownLength(.close, .ignoresRange)]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 100000- if "v1""#
        ).on(.socket),
        OriginCase(
            "14", "states no length, and another origin than HTTP/1.1 ends the body",
            [.follow([.unknownLength(.close, .ignoresRange)]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"
        ).on([.http, .loader]).loader(answers: "the original; the original", stored: "nothing"),
        OriginCase(
            "14", "resets the connection in a body without length",
            [.follow([.cut(afterBytes: 30_000, .reset, .unknownLength(.close, .ignoresRange)), .correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000).loader(answers: "the original", stored: "nothing", requests: "0-"),
        OriginCase(
            "15", "sends more than its Content-Length",
            [.follow([.fields(["Content-Length": "60000"], .ignoresRange)]), .get(), .get()],
            answers: "200 0-59999 of v1; 200 0-59999 of v1", stored: "0-59999 of v1, all", requests: "0-"),
        OriginCase(
            "23", "codes the body although identity was asked for",
            [.follow([.fields(["Content-Encoding": "gzip"], .correct)]), .get(), .get(50_000, to: 60_000)],
            answers: "200 0-99999 of v1 in gzip; 206 50000-59999 of v1 in gzip", stored: "0-99999 of v1, all", requests: "0-"
        ).loader(answers: "the original; the original", stored: "nothing"),
        OriginCase(
            "23", "codes the rest of a body that began plain",
            [.broken(.fields(["Content-Encoding": "gzip"], .correct)), .get()],
            answers: "200 0-29999 of v1, cut", stored: "30000-… of v1", requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000),
        OriginCase(
            "29", "resets the connection again and again, always further on",
            [.follow((1...8).map { _ in .cut(afterBytes: 12_000, .reset, .correct) } + [.correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all",
            requests: "0-, " + (1...8).map { #"\#($0 * 12_000)- if "v1""# }.joined(separator: ", ")
        ).flowing(after: 12_000),
        OriginCase(
            "29", "resets the connection again and again at the same byte",
            [.follow([.cut(afterBytes: 30_000, .reset, .correct), .refuse]), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1",
            requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000).withoutRepeats,
        OriginCase(
            "29", "accepts each request for the rest and sends nothing of it",
            [.follow([.cut(afterBytes: 30_000, .reset, .correct), .cut(afterBytes: 0, .close, .correct)]), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1",
            requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000).on([.http, .socket]).withoutRepeats,
        OriginCase(
            "30", "stops in the middle and sends nothing more",
            [.follow([.stall(afterBytes: 30_000, .correct), .correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000),
        OriginCase(
            "31", "sends a thousand bytes a second",
            [.follow([.slow(latency: .seconds(3), bytesPerSecond: 1000, chunkBytes: 1000...1000)]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"
        ).flowing.on([.http, .loader]),
        OriginCase(
            "32", "takes the request and never answers",
            [.follow([.silence, .correct]), .get(), .get()],
            answers: "504; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 0-"
        ).flowing.loader(answers: "0-99999 of v1; 0-99999 of v1"),
        OriginCase(
            "40", "has an empty body", [.follow([.status(200, fields: ["ETag": "\"v1\""])]), .get(), .get()],
            answers: "200 nothing; 200 nothing", stored: "all of 0 bytes", requests: "0-"
        ).loader(answers: "the original; the original"),
        OriginCase(
            "41", "has bytes beyond 4 GiB",
            [.get(5 << 30, to: (5 << 30) + 1000)],
            answers: "206 5368709120-5368710119 of v1", stored: "5368709120-5368710119 of v1", requests: "5368709120-5368710119"
        ).of { $0.length = 6 << 30 }.loader(stored: "5368709120-5368710119 of v1", requests: #"0-, 5368709120-5368710119 if "v1""#),
        OriginCase(
            "42", "has a negative Content-Length",
            [.follow([.fields(["Content-Length": "-5"], .ignoresRange)]), .get()],
            answers: "502", stored: "nothing", requests: "0-, whole"
        ).flowing.loader(answers: "the original"),
        OriginCase(
            "42", "repeats its Content-Length",
            [.follow([.fields(["Content-Length": "100000", "Content-Length": "100000"], .ignoresRange)]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "42", "has two Content-Lengths",
            [.follow([.fields(["Content-Length": "100000", "Content-Length": "5"], .ignoresRange)]), .get()],
            answers: "502", stored: "nothing", requests: "0-, whole"
        ).flowing.loader(answers: "the original"),
        OriginCase(
            "43", "has two Content-Ranges",
            [
                .follow([.fields(["Content-Range": "bytes 50000-59999/100000", "Content-Range": "bytes 0-9999/100000"], .correct)]),
                .get(50_000, to: 60_000),
            ],
            answers: "502", stored: "nothing", requests: "50000-59999, 50000-59999"
        ).flowing.loader(answers: "50000-59999 of v1", stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "43", "has two entity tags",
            [
                .broken(
                    .fields(["ETag": "\"a\"", "ETag": "\"b\""], .correct), first: .fields(["ETag": "\"a\"", "ETag": "\"b\""], .correct)),
                .get(),
            ],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1", requests: "0-"
        ).loader(answers: "0-99999 of v1", requests: "0-, 30000-").flowing(after: 30_000),
        OriginCase(
            "44", "has Content-Length and Transfer-Encoding",
            [.follow([.fields(["Content-Length": "5"], .unknownLength(.chunked, .correct))]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "45", "sends three 1xx responses first",
            [.follow([.informational(103, count: 3, .correct)]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "45", "sends 1xx responses for ever",
            [.follow([.informational(102, count: 40, .correct)]), .get()],
            answers: "502", stored: "nothing", requests: "0-, whole"
        ).flowing.loader(answers: "the original"),
        OriginCase(
            "51", "closes an idle connection",
            [.follow([.shorterRange(maxBytes: 30_000)]), .get(to: 30_000), .closeConnections, .follow([.correct]), .get()],
            answers: "206 0-29999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "v1""#),
        OriginCase(
            "51", "speaks HTTP/1.0",
            [.follow([raw("HTTP/1.0 200 OK\r\nETag: \"v1\"\r\nContent-Type: audio/mpeg\r\n\r\n", whole)]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 100000- if "v1""#
        ).on(.socket),
        OriginCase(
            "F8", "has a head of 80 KiB",
            [.follow([.fields(["X-Long": String(repeating: "x", count: 80 << 10)], .correct)]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "F8", "has a head of 300 KiB",
            [.follow([raw("HTTP/1.1 200 OK\r\nX-Long: \(String(repeating: "x", count: 300 << 10))\r\n\r\n", whole)]), .get()],
            answers: "502", stored: "nothing", requests: "0-, whole"
        ).flowing.on(.socket),
        OriginCase(
            "F9", "ends its lines with a bare LF",
            [
                .follow([raw("HTTP/1.1 200 OK\nETag: \"v1\"\nContent-Type: audio/mpeg\nContent-Length: 100000\n\n", whole)]), .get(),
            ],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"
        ).on(.socket),
        OriginCase(
            "F9", "answers with bytes that are no HTTP",
            [.follow([raw("nobody is here\r\n\r\n"), .correct]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, whole"
        ).flowing,
        OriginCase(
            "F9", "closes in the middle of its head",
            [.follow([raw("HTTP/1.1 200 OK\r\nETag: \"v"), .correct]), .get(), .get()],
            answers: "502; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 0-"
        ).loader(answers: "the original; 0-99999 of v1"),
        // The behaviour as a transport reports it that notices the missing end.
        OriginCase(
            "F10", "breaks off TLS in a body without length, without a close notification",
            [.follow([.cut(afterBytes: 30_000, .reset, .unknownLength(.close, .ignoresRange)), .correct]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "v1""#
        ).of { $0.url = "https://origin.test/song.mp3" }.flowing(after: 30_000).on([.http, .loader])
            .loader(answers: "the original; the original", stored: "nothing", requests: "0-"),
    ]
}
