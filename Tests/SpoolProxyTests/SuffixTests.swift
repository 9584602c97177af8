import SpoolCore
import SpoolProxy
import Testing

/// A range of last bytes as the first request of a resource (RFC 9110 §14.1.2).
@Suite(.timeLimit(.minutes(20))) struct SuffixTests {
    /// The validator of the origin's answers.
    enum Validator: CaseIterable, Sendable {
        case strong, weak, none

        var fields: HTTPFields {
            switch self {
            case .strong: ["ETag": "\"v1\""]
            case .weak: ["ETag": "W/\"v1\""]
            case .none: [:]
            }
        }
    }

    /// The origin's answers, by the name that the URL has.
    private static let answers: [(name: String, suffix: DocumentOrigin.Document.SuffixAnswer, hasLength: Bool, servesRanges: Bool)] = [
        ("part", .part, true, true), ("whole", .whole, true, false), ("whole-with-ranges", .whole, true, true),
        ("chunked", .whole, false, false), ("416", .status(416), true, true), ("416-for-all", .noRanges, true, false),
    ]
    private static let refusals = [400, 403, 404, 405, 410, 429, 500, 501, 503]
    /// The fields of the client besides the range.
    private static let directives: [HTTPFields] = [[:], ["Cache-Control": "no-cache"], ["Cache-Control": "no-store"]]
    private static let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

    private func document(_ validator: Validator, _ suffix: DocumentOrigin.Document.SuffixAnswer) -> DocumentOrigin.Document {
        var document = DocumentOrigin.Document(type: "video/mp4", fields: validator.fields)
        (document.body, document.hasTag, document.suffixAnswer) = (Self.content, false, suffix)
        return document
    }

    @Test(arguments: Validator.allCases, StoreKind.allCases)
    func `the last bytes are served whatever form the origin's answer has`(validator: Validator, store: StoreKind) throws {
        let origin = DocumentOrigin()
        let world = try ProxyWorld(store: store, transport: origin)
        defer { world.stop() }
        // Without a strong tag, a client may get the 416 that it would get without a cache.
        for answer in Self.answers where answer.suffix != .noRanges || validator == .strong {
            for (number, directive) in Self.directives.enumerated() {
                for count in [1, 500, 100_000, 200_000] {
                    let path = "origin.example/\(answer.name)-\(number)-\(count).mp4"
                    var document = document(validator, answer.suffix)
                    document.hasLength = answer.hasLength
                    if answer.servesRanges { document.fields["Accept-Ranges"] = "bytes" }
                    origin["https://\(path)"] = document
                    var fields = directive
                    fields["Range"] = "bytes=-\(count)"
                    for turn in ["cold", "stored"] {
                        let found = try world.get("/https/\(path)", fields)
                        let isWhole = !answer.hasLength && found.status == 200
                        #expect(isWhole || found.status == 206, "\(path), \(turn)")
                        #expect(found.body == (isWhole ? Self.content : Array(Self.content.suffix(count))), "\(path), \(turn)")
                    }
                    #expect(origin.count(of: "https://\(path)") <= 4, "\(path)")
                }
            }
        }
    }

    @Test(arguments: Validator.allCases, refusals)
    func `a refusal keeps its status and body`(validator: Validator, status: Int) throws {
        let origin = DocumentOrigin()
        let world = try ProxyWorld(transport: origin)
        defer { world.stop() }
        for (number, directive) in Self.directives.enumerated() {
            let path = "origin.example/\(number).mp4"
            origin["https://\(path)"] = document(validator, .status(status))
            var fields = directive
            fields["Range"] = "bytes=-500"
            let found = try world.get("/https/\(path)", fields)
            #expect(found.status == status && found.text == "refused", "\(path)")
        }
    }
}
