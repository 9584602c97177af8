internal import Spool
internal import SpoolCore
internal import SpoolTesting

/// The cases about redirects.
enum RedirectCases {
    /// Rows 25 to 28.
    static let all: [OriginCase] = [
        OriginCase(
            "25", "redirects five times, each time with another status and by a relative Location",
            [
                .route("/song.mp3", .redirect(301, to: "/a")), .route("/a", .redirect(302, to: "b")),
                .route("/b", .redirect(303, to: "./c")), .route("/c", .redirect(307, to: "/x/../d")),
                .route("/d", .redirect(308, to: "/there")), .route("/there", answer), .get(), .get(),
            ],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all",
            requests: "0-, /a 0-, /b 0-, /c 0-, /d 0-, /there 0-"),
        OriginCase(
            "25", "redirects in a circle",
            [.route("/song.mp3", .redirect(to: "/a")), .route("/a", .redirect(to: "/song.mp3")), .get()],
            answers: "502", stored: "nothing", requests: "0-, /a 0-"
        ).loader(answers: "the original"),
        OriginCase(
            "25", "redirects more than twenty times",
            [.route("/song.mp3", .redirect(to: "/1"))] + (1...22).map { .route("/\($0)", .redirect(to: "/\($0 + 1)")) } + [.get()],
            answers: "502", stored: "nothing", requests: "0-, " + (1...20).map { "/\($0) 0-" }.joined(separator: ", ")
        ).loader(answers: "the original"),
        OriginCase(
            "26", "redirects to a signed URL that expires",
            [
                .route("/song.mp3", .redirect(to: "/signed-1")), .route("/signed-1", .cut(afterBytes: 30_000, .close, answer)),
                .get(to: 30_000),
                .route("/signed-1", .status(403)), .route("/song.mp3", .redirect(to: "/signed-2")), .route("/signed-2", rest), .get(),
            ],
            answers: "206 0-29999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all",
            requests: #"0-, /signed-1 0-, 30000- if "v1", /signed-2 30000- if "v1""#
        ).flowing,
        OriginCase(
            "26", "redirects to a signed URL that has expired",
            [.route("/song.mp3", .redirect(to: "/signed-1")), .route("/signed-1", .status(403)), .get()],
            answers: "403", stored: "nothing", requests: "0-, /signed-1 0-"
        ).loader(answers: "the original"),
        OriginCase(
            "27", "redirects from https to http",
            [.follow([.redirect(to: "http://origin.test/plain.mp3")]), .get()],
            answers: "307", stored: "nothing", requests: "0-"
        ).of { $0.url = "https://origin.test/song.mp3" }.on([.http, .loader]).loader(answers: "the original"),
        OriginCase(
            "28", "redirects to another host",
            [.route("/song.mp3", .redirect(to: "http://cdn.test/there")), .route("/there", answer), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0- with credentials, /there 0-"
        ).configured { $0.network.requestFields = ["Authorization": "Bearer 1"] },
    ]

    /// A correct whole response of another path, because the song is not served there.
    private static let answer = OriginBehaviour.status(
        200, fields: ["ETag": "\"v1\"", "Content-Type": "audio/mpeg"],
        body: OriginCase.song.content.bytes(at: 0, count: Int(OriginCase.song.length)))
    private static let rest = OriginBehaviour.status(
        206, fields: ["ETag": "\"v1\"", "Content-Type": "audio/mpeg", "Content-Range": "bytes 30000-99999/100000"],
        body: OriginCase.song.content.bytes(at: 30_000, count: 70_000))
}
