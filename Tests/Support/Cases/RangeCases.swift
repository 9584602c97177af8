internal import SpoolCore
internal import SpoolTesting

/// The cases about ranges, the fields about them, and the bytes that come.
enum RangeCases {
    /// Rows 1 to 11 and 33 to 39.
    static let asked: [OriginCase] = [
        OriginCase(
            "1", "answers a range with the whole body",
            [.follow([.ignoresRange]), .get(50_000), .get()],
            answers: "206 50000-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "50000-"
        ).loader(requests: "0-"),
        OriginCase(
            "2", "answers If-Range with the whole body of another version",
            OriginCase.stored30000 + [.serve(OriginCase.song.version(seed: 2)), .get(30_000), .get()],
            answers: "206 0-29999 of v1; 206 30000-99999 of v2; 200 0-99999 of v2", stored: "0-99999 of v2, all",
            requests: #"0-, 30000- if "v1""#
        ).loader(answers: "0-29999 of v1; error; 0-99999 of v2"),
        OriginCase(
            "3", "sends a part that begins later than asked",
            [.follow([.shiftedRange(by: 10)]), .get(50_000, to: 60_000)],
            answers: "502", stored: "nothing", requests: "50000-59999, 50000-59999"
        ).flowing.loader(answers: "50000-59999 of v1", stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "3", "sends a part that begins later than asked, once",
            [.follow([.shiftedRange(by: 10), .correct]), .get(50_000, to: 60_000)],
            answers: "206 50000-59999 of v1", stored: "50000-59999 of v1", requests: "50000-59999, 50000-59999"
        ).flowing.loader(stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "3", "sends a part that begins earlier than asked and has it",
            [.follow([.shiftedRange(by: -10), .correct]), .get(50_000, to: 60_000)],
            answers: "206 50000-59999 of v1", stored: "50000-59999 of v1", requests: #"50000-59999, 59990-59999 if "v1""#
        ).flowing(after: 9990).loader(stored: "0-65535 of v1", requests: "0-"),
        OriginCase(
            "3", "names a part that begins before the requested one, and a length that differs from the part's",
            [.follow([.fields(["Content-Range": "bytes 49990-59999/100000"], .correct), .correct]), .get(50_000, to: 60_000)],
            answers: "206 50000-59999 of v1", stored: "50000-59999 of v1", requests: "50000-59999, 50000-59999"
        ).flowing.loader(stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "4", "sends less than was asked",
            [.follow([.shorterRange(maxBytes: 30_000)]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all",
            requests: #"0-, 30000- if "v1", 60000- if "v1", 90000- if "v1""#),
        OriginCase(
            "5", "sends more than was asked",
            [
                .follow([.status(206, fields: OriginCase.song.fields(of: 50_000..<90_000), body: OriginCase.song.bytes(50_000..<90_000))]),
                .get(50_000, to: 60_000),
            ],
            answers: "206 50000-59999 of v1", stored: "50000-59999 of v1", requests: "50000-59999"
        ).loader(answers: "the original", stored: "nothing", requests: "0-, whole"),
        OriginCase(
            "6", "sends a 206 without Content-Range",
            [.follow([.without(["Content-Range"], .correct)]), .get(50_000, to: 60_000)],
            answers: "502", stored: "nothing", requests: "50000-59999, 50000-59999"
        ).flowing.loader(answers: "50000-59999 of v1", stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "6", "sends a 206 without Content-Range to everything with a range",
            [.follow([.without(["Content-Range"], .correct), .correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, whole"
        ).flowing,
        OriginCase(
            "7", "sends a Content-Range that ends before it begins",
            [.follow([.fields(["Content-Range": "bytes 60000-50000/100000"], .correct)]), .get(50_000, to: 60_000)],
            answers: "502", stored: "nothing", requests: "50000-59999, 50000-59999"
        ).flowing.loader(answers: "50000-59999 of v1", stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "7", "sends a Content-Range that ends after its own length",
            [.follow([.fields(["Content-Range": "bytes 50000-59999/55000"], .correct)]), .get(50_000, to: 60_000)],
            answers: "502", stored: "nothing", requests: "50000-59999, 50000-59999"
        ).flowing.loader(answers: "50000-59999 of v1", stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "8", "sends a Content-Range without a length",
            [.follow([.fields(["Content-Range": "bytes 0-99999/*"], .correct), .correct]), .get(), .get(50_000, to: 60_000)],
            answers: "200 0-99999 of v1; 206 50000-59999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 100000- if "v1""#
        ).loader(answers: "the original; the original", stored: "nothing", requests: "0-"),
        OriginCase(
            "9", "counts its ranges in another unit",
            [.follow([.fields(["Content-Range": "seconds 5-9/10"], .correct)]), .get(50_000, to: 60_000)],
            answers: "502", stored: "nothing", requests: "50000-59999, 50000-59999"
        ).flowing.loader(answers: "50000-59999 of v1", stored: "0-65535 of v1", requests: "0-, whole"),
        OriginCase(
            "10", "sends another length under the same entity tag",
            OriginCase.stored30000 + [.serve(OriginCase.song.relabelled(seed: 2, length: 120_000)), .get(30_000), .get()],
            answers: "206 0-29999 of v1; 206 30000-119999 of v2; 200 0-119999 of v2", stored: "0-119999 of v2, all",
            requests: #"0-, 30000- if "v1", 100000- if "v1", 0-29999 if "v1""#
        ).loader(
            answers: "0-29999 of v1; error; 0-119999 of v2", requests: #"0-, 30000- if "v1", 0-29999 if "v1", 100000- if "v1""#),
        OriginCase(
            "11", "sends a Content-Length above that of its Content-Range",
            [.follow([.fields(["Content-Length": "40000"], .correct)]), .get(50_000, to: 60_000)],
            answers: "206 50000-59999 of v1", stored: "50000-59999 of v1", requests: "50000-59999"
        ).loader(stored: "0-39999 of v1, 50000-59999 of v1", requests: #"0-, 50000-59999 if "v1""#),
        OriginCase(
            "11", "sends a Content-Length below that of its Content-Range",
            [.follow([.fields(["Content-Length": "4000"], .correct), .correct]), .get(50_000, to: 60_000)],
            answers: "206 50000-59999 of v1", stored: "50000-59999 of v1", requests: #"50000-59999, 54000-59999 if "v1""#
        ).flowing(after: 4000).loader(
            stored: "0-3999 of v1, 50000-59999 of v1", requests: #"0-, 50000-59999 if "v1""#),
        OriginCase(
            "33", "does not support HEAD",
            [.ask(.init(ranges: [.init(0, nil)], isHead: true)), .get()],
            answers: "200 length 100000; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"),
        OriginCase(
            "34", "answers 416 at an end that it had not named",
            [.follow([.fields(["Content-Range": "bytes 0-99999/*"], .correct), .correct]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 100000- if "v1""#
        ).loader(answers: "the original; the original", stored: "nothing", requests: "0-"),
        OriginCase(
            "35", "answers 416 where bytes were: it became shorter",
            OriginCase.stored30000 + [
                .serve(OriginCase.song.version(seed: 2, length: 20_000)), .follow([.ignoresIfRange]), .get(30_000), .get(),
            ],
            answers: "206 0-29999 of v1; 416; 200 0-19999 of v2", stored: "0-19999 of v2, all",
            requests: #"0-, 30000- if "v1", 30000-, 0-"#
        ).loader(requests: #"0-, 30000- if "v1", 30000-99999, 0-"#),
        OriginCase(
            "36", "answers 416 without a length, for a new resource",
            [.follow([.status(416)]), .get(50_000, to: 60_000), .follow([.correct]), .get()],
            answers: "416; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "50000-59999, 0-"
        ).withoutRepeats.loader(answers: "the original; 0-99999 of v1", requests: "0-, whole"),
        OriginCase(
            "36", "answers 416 without a length, of a resource that is stored in part",
            OriginCase.stored30000 + [.follow([.status(416), .correct]), .get(30_000), .get()],
            answers: "206 0-29999 of v1; 206 30000-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all",
            requests: #"0-, 30000- if "v1", 30000-, 0-29999 if "v1""#
        ).loader(
            answers: "0-29999 of v1; 30000-99999 of v1; 0-99999 of v1", requests: #"0-, 30000- if "v1", 30000-99999, 0-29999 if "v1""#),
        OriginCase(
            "36", "answers 416 to every range, without a length",
            [.follow([.status(416), .correct]), .get(), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, whole"),
        OriginCase(
            "36", "answers 416 with a length above 0 to bytes=0-",
            [.follow([.status(416, fields: ["Content-Range": "bytes */100000"]), .correct]), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, whole"),
        OriginCase(
            "36", "answers 416 to everything",
            [.follow([.status(416)]), .get()],
            answers: "416", stored: "nothing", requests: "0-, whole"
        ).loader(answers: "the original"),
        OriginCase(
            "37", "answers 416 to bytes=0- of an empty resource",
            [.get(), .get()],
            answers: "200 nothing; 200 nothing", stored: "all of 0 bytes", requests: "0-"
        ).of { $0.length = 0 }.loader(answers: "the original; the original"),
        OriginCase(
            "37", "answers 200 to bytes=0- of an empty resource",
            [.follow([.ignoresRange]), .get(), .get()],
            answers: "200 nothing; 200 nothing", stored: "all of 0 bytes", requests: "0-"
        ).of { $0.length = 0 }.loader(answers: "the original; the original"),
        OriginCase(
            "38", "sends multipart/byteranges for one range",
            [.follow([.status(206, fields: ["Content-Type": "multipart/byteranges; boundary=x"], body: multipart)]), .get(0, to: 10)],
            answers: "502", stored: "nothing", requests: "0-, whole"
        ).flowing.loader(answers: "the original"),
        OriginCase(
            "39", "is asked for several ranges by a client",
            [.get(), .ask(.init(ranges: [.init(0, 100), .init(50_000, 50_100)]))],
            answers: "200 0-99999 of v1; 206 0-99 of v1 and 50000-50099 of v1", stored: "0-99999 of v1, all", requests: "0-"),
    ]

    /// Responses with a part that no request asked for. Spool uses them as the part that their fields
    /// name.
    static let uninvited: [OriginCase] = [
        OriginCase(
            "F2", "sends a part although no range was asked for",
            [
                .follow([
                    .status(416), .status(206, fields: OriginCase.song.fields(of: 0..<30_000), body: OriginCase.song.bytes(0..<30_000)),
                    .correct,
                ]),
                .get(), .get(),
            ],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, whole, 30000- if "v1""#),
        OriginCase(
            "F2", "sends a part from the middle although no range was asked for",
            [
                .follow([
                    .status(416),
                    .status(206, fields: OriginCase.song.fields(of: 50_000..<90_000), body: OriginCase.song.bytes(50_000..<90_000)),
                ]), .get(),
            ],
            answers: "502", stored: "nothing", requests: "0-, whole"
        ).flowing.withoutRepeats.loader(answers: "the original"),
    ]

    private static let multipart = Array(
        "--x\r\nContent-Type: audio/mpeg\r\nContent-Range: bytes 0-9/100000\r\n\r\n0123456789\r\n--x--\r\n".utf8)
}

extension VirtualResource {
    /// Returns the fields of a 206 with these bytes.
    fileprivate func fields(of range: Range<Int64>) -> HTTPFields {
        var fields: HTTPFields = ["Content-Range": "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"]
        if let contentType { fields.append("Content-Type", contentType) }
        if let entityTag { fields.append("ETag", entityTag) }
        return fields
    }

    fileprivate func bytes(_ range: Range<Int64>) -> [UInt8] { content.bytes(at: range.lowerBound, count: Int(range.count)) }

    /// Returns a version with other bytes under the same entity tag.
    func relabelled(seed: UInt64, length: Int64? = nil) -> VirtualResource {
        var new = version(seed: seed, length: length)
        new.entityTag = entityTag
        return new
    }
}
