import SpoolCore
import SpoolTesting

/// The cases about numbers near and beyond 2^60, from origins and from clients
/// (`ByteRange.maximumOffset`).
enum NumberCases {
    /// All of them.
    static let all: [OriginCase] = lengths + positions

    private static let bound = ByteRange.maximumOffset

    /// Returns a body that ends with its connection, with these fields in its head.
    private static func endless(_ fields: HTTPFields, _ behaviour: OriginBehaviour = .ignoresRange) -> OriginBehaviour {
        .fields(fields, .unknownLength(.close, behaviour))
    }

    /// The lengths that media servers send for a stream that they transcode during playback. A
    /// player plays it without a cache, too.
    private static let lengths: [OriginCase] = [
        OriginCase(
            "41", "has a Content-Length of 20 digits",
            [.follow([endless(["Content-Length": "99999999999999999999"])]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "nothing", requests: #"0-, 0- if "v1""#
        ).loader(answers: "the original; the original", requests: "0-"),
        // libcurl counts up to 2^63 - 1, so on a socket the body of this one is cut.
        OriginCase(
            "41", "has a Content-Length of 2^60 + 1", [.follow([endless(["Content-Length": "1152921504606846977"])]), .get()],
            answers: "200 0-99999 of v1", stored: "nothing", requests: "0-"
        ).on([.http, .loader]).loader(answers: "the original"),
        OriginCase(
            "41", "sends a Content-Range with the length 2^63 - 1",
            [.follow([endless(["Content-Range": "bytes 0-9223372036854775806/9223372036854775807"], .correct)]), .get()],
            answers: "200 0-99999 of v1", stored: "nothing", requests: "0-"
        ).loader(answers: "the original"),
        OriginCase(
            "41", "sends a last position beyond 64 bits, and no length",
            [.follow([endless(["Content-Range": "bytes 0-18446744073709551614/*"], .correct)]), .get()],
            answers: "200 0-99999 of v1", stored: "nothing", requests: "0-"
        ).loader(answers: "the original"),
        OriginCase(
            "41", "has 2^60 bytes",
            [.get(bound - 1000, to: bound), .get(bound - 500), .get(bound)],
            answers: "206 1152921504606845976-1152921504606846975 of v1; 206 1152921504606846476-1152921504606846975 of v1; 416",
            stored: "1152921504606845976-1152921504606846975 of v1",
            requests: #"1152921504606845976-1152921504606846975, 0- unless "v1""#
        ).of { $0.length = bound }.loader(
            answers: "1152921504606845976-1152921504606846975 of v1; 1152921504606846476-1152921504606846975 of v1; nothing",
            requests: #"0-, 1152921504606845976- if "v1""#),
    ]

    private static let positions: [OriginCase] = [
        OriginCase(
            "41", "sends a part at 2^63 - 500 in place of the one that was asked for",
            [
                .follow([
                    .fields(["Content-Range": "bytes 9223372036854775307-9223372036854775806/9223372036854775807"], .correct), .correct,
                ]), .get(50_000, to: 60_000),
            ],
            answers: "206 50000-59999 of v1", stored: "50000-59999 of v1", requests: "50000-59999, 50000-59999"
        ).flowing.loader(stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "41", "answers 416 with the length 2^63 - 1",
            [.follow([.status(416, fields: ["Content-Range": "bytes */9223372036854775807"]), .correct]), .get(50_000, to: 60_000)],
            answers: "416", stored: "nothing", requests: "50000-59999"
        ).loader(answers: "50000-59999 of v1", stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "41", "is asked for bytes up to 2^63 - 1",
            [.get(50_000, to: .max), .get(50_000, to: bound + 1), .get(50_000, to: 1 << 62)],
            answers: "206 50000-99999 of v1; 206 50000-99999 of v1; 206 50000-99999 of v1", stored: "50000-99999 of v1", requests: "50000-"
        ).loader(stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "41", "is asked for bytes from 2^60 on, and from 2^63 - 1 on",
            [.get(bound), .get(bound + 1), .get(1 << 62), .get(.max), .get()],
            answers: "416; 416; 416; 416; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 0- unless "v1""#
        ).loader(answers: "nothing; nothing; nothing; nothing; 0-99999 of v1", requests: "0-"),
        OriginCase(
            "41", "sends no length, and gets a request for bytes from 2^60 on",
            [.follow([.unknownLength(.chunked, .ignoresRange)]), .get(bound), .get(.max)],
            answers: "416; 416", stored: "0-… of v1", requests: "0-"
        ).loader(answers: "the original; the original", stored: "nothing"),
    ]
}
