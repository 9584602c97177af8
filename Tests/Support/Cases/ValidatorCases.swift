internal import Spool
internal import SpoolCore
internal import SpoolTesting

/// The cases about the validators that distinguish versions.
enum ValidatorCases {
    /// An hour before the clock of the tests.
    private static let anHourAgo = Timestamp(seconds: 1_800_000_000 - 3600)

    private static func tagged(_ tag: String?) -> (inout VirtualResource) -> Void {
        { $0.entityTag = tag }
    }

    /// Rows 16 to 22.
    static let all: [OriginCase] = [
        OriginCase(
            "16", "changes its entity tag between two parts, and ignores If-Range",
            [.broken(.fields(["ETag": "\"v2\""], .ignoresIfRange)), .get()],
            answers: "200 0-29999 of v1, cut", stored: "30000-… of v1", requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000),
        OriginCase(
            "16", "changes between two plays",
            OriginCase.stored30000 + [.serve(OriginCase.song.version(seed: 2)), .get(50_000), .get(to: 50_000)],
            answers: "206 0-29999 of v1; 206 50000-99999 of v2; 206 0-49999 of v2", stored: "0-99999 of v2, all",
            requests: #"0-, 50000- if "v1""#
        ).loader(answers: "0-29999 of v1; error; 0-49999 of v2", stored: "0-65535 of v2"),
        OriginCase(
            "17", "has servers that tag the same bytes differently",
            [.broken(.fields(["ETag": "\"node-2\""], .ignoresIfRange)), .get()],
            answers: "200 0-29999 of v1, cut", stored: "30000-… of v1", requests: #"0-, 30000- if "v1""#
        ).of { $0.lastModified = anHourAgo }.flowing(after: 30_000),
        OriginCase(
            "17", "has servers that tag the same bytes differently, under the identity of length and date",
            [.broken(.fields(["ETag": "\"node-2\""], .ignoresIfRange)), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 30000-"
        ).of { $0.lastModified = anHourAgo }.configured { $0.freshness.identities["*"] = .lengthAndLastModified }.flowing(after: 30_000),
        OriginCase(
            "18", "has a weak entity tag only",
            [.broken(), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1", requests: "0-"
        ).loader(answers: "0-99999 of v1", requests: "0-, 30000-").of(tagged("W/\"v1\"")).flowing(after: 30_000),
        OriginCase(
            "18", "has a weak entity tag that changes",
            [.broken(.fields(["ETag": "W/\"v2\""], .correct)), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1", requests: "0-"
        ).loader(stored: "nothing", requests: "0-, 30000-").of(tagged("W/\"v1\"")).flowing(after: 30_000),
        OriginCase(
            "19", "has a modification date only, an hour before Date",
            [.broken(), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 30000- if its date"
        ).of { resource in
            resource.entityTag = nil
            resource.lastModified = anHourAgo
        }.flowing(after: 30_000),
        OriginCase(
            "20", "has a modification date in the future only",
            [.broken(), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1", requests: "0-"
        ).loader(answers: "0-99999 of v1", requests: "0-, 30000-").of { resource in
            resource.entityTag = nil
            resource.lastModified = Timestamp(seconds: 1_900_000_000)
        }.flowing(after: 30_000),
        OriginCase(
            "20", "has a modification date and no usable Date",
            [.broken(.fields(["Date": "today"], .correct), first: .fields(["Date": "today"], .correct)), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1", requests: "0-"
        ).loader(answers: "0-99999 of v1", requests: "0-, 30000-").of { resource in
            resource.entityTag = nil
            resource.lastModified = anHourAgo
        }.flowing(after: 30_000),
        OriginCase(
            "21", "has no validator",
            [.broken(), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1", requests: "0-"
        ).loader(answers: "0-99999 of v1", requests: "0-, 30000-").of(tagged(nil)).flowing(after: 30_000),
        OriginCase(
            "21", "has no validator, and changes at equal length between two plays",
            OriginCase.stored30000 + [.serve(OriginCase.song.relabelled(seed: 2)), .get(), .get()],
            answers: "206 0-29999 of v1; 200 0-99999 of v2; 200 0-99999 of v2", stored: "0-99999 of v2, all", requests: "0-, 0-"
        ).of(tagged(nil)).on([.http, .socket]),
        OriginCase(
            "21", "has no validator, and is sought in",
            [.get(50_000, to: 60_000), .get(90_000), .get(0, to: 1000)],
            answers: "206 50000-59999 of v1; 206 90000-99999 of v1; 206 0-999 of v1", stored: "0-999 of v1",
            requests: "50000-59999, 90000-, 0-999"
        ).of(tagged(nil)).on([.http, .socket]),
        OriginCase(
            "21", "has no validator, and cuts its first answer off; its file is played again",
            [.broken(), .get(), .get()],
            answers: "200 0-29999 of v1, cut; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 0-"
        ).loader(answers: "0-99999 of v1; 0-99999 of v1", requests: "0-, 30000-, 0-").of(tagged(nil)).flowing(after: 30_000),
        OriginCase(
            "21", "has no validator, and files that never change (identity: length)",
            [.broken(), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 30000-"
        ).of(tagged(nil)).configured { $0.freshness.identities["origin.test"] = .length }.flowing(after: 30_000).on([.http, .loader]),
        OriginCase(
            "22", "has an entity tag of 4000 bytes",
            [.broken(), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: #"0-, 30000- if "xxxxxxx… of 4002 bytes"#
        ).of(tagged("\"\(String(repeating: "x", count: 4000))\"")).flowing(after: 30_000),
        OriginCase(
            "22", "has an entity tag of 9000 bytes",
            [.broken(), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1", requests: "0-"
        ).loader(answers: "0-99999 of v1", requests: "0-, 30000-").of(tagged("\"\(String(repeating: "x", count: 9000))\"")).flowing(
            after: 30_000),
        OriginCase(
            "22", "has an entity tag with spaces and without quotes",
            [.broken(.ignoresIfRange), .get()],
            answers: "200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-, 30000- if a b c"
        ).of(tagged("a b c")).flowing(after: 30_000),
        OriginCase(
            "22", "has an empty entity tag",
            [.broken(), .get()],
            answers: "200 0-29999 of v1, cut", stored: "0-29999 of v1", requests: "0-"
        ).loader(answers: "0-99999 of v1", requests: "0-, 30000-").of(tagged("")).flowing(after: 30_000),
        OriginCase(
            "F15", "has two nodes, of which one leaves out the quotes of the tag",
            [.broken(.fields(["ETag": "v1"], .ignoresIfRange)), .get()],
            answers: "200 0-29999 of v1, cut", stored: "30000-… of v1", requests: #"0-, 30000- if "v1""#
        ).flowing(after: 30_000),
        OriginCase(
            "F16", "changes at equal length without validators, which no cache can detect",
            [.get(), .serve(OriginCase.song.relabelled(seed: 2)), .get()],
            answers: "200 0-99999 of v1; 200 0-99999 of v1", stored: "0-99999 of v1, all", requests: "0-"
        ).of(tagged(nil)),
    ]
}
