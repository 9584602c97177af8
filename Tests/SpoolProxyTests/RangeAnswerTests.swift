import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// `Range` at the HTTP door (RFC 9110 §14), over each kind of store, for bytes from the origin and
/// for stored ones.
@Suite(.timeLimit(.minutes(20))) struct RangeAnswerTests {
    static let length = 100_000

    /// The expected answer to a `Range`: the bytes of one part, the whole, or none.
    struct Case: CustomTestStringConvertible, Sendable {
        enum Expected: Equatable, Sendable {
            case part(Range<Int>)
            case whole
            case none
        }

        var range: String
        var expected: Expected
        var testDescription: String { range }

        init(_ range: String, _ expected: Expected) { (self.range, self.expected) = (range, expected) }
    }

    static let cases = [
        Case("bytes=0-99", .part(0..<100)),
        Case("bytes=0-0", .part(0..<1)),
        Case("bytes=99999-99999", .part(99_999..<100_000)),
        Case("bytes=70000-80000", .part(70_000..<80_001)),
        Case("bytes=0-", .part(0..<100_000)),
        Case("bytes=65536-", .part(65_536..<100_000)),
        Case("bytes=99999-", .part(99_999..<100_000)),
        Case("bytes=-1", .part(99_999..<100_000)),
        Case("bytes=-70000", .part(30_000..<100_000)),
        Case("bytes=-100000", .part(0..<100_000)),
        Case("bytes=-200000", .part(0..<100_000)),
        Case("bytes=99990-200000", .part(99_990..<100_000)),
        Case("bytes=5-99999999999999999999999999", .part(5..<100_000)),
        Case("Bytes=10-19", .part(10..<20)),
        Case("bytes= 10-19 ", .part(10..<20)),
        // Overlapping and touching ranges are merged (RFC 9110 §15.3.7.2).
        Case("bytes=0-99,50-199", .part(0..<200)),
        Case("bytes=100-199,0-99", .part(0..<200)),
        Case("bytes=0-9,200000-", .part(0..<10)),
        Case("bytes=200000-,0-9", .part(0..<10)),
        Case("bytes=200000-,-10", .part(99_990..<100_000)),
        // An invalid range set is ignored (RFC 9110 §14.2).
        Case("bytes=5-2", .whole),
        Case("bytes=", .whole),
        Case("bytes", .whole),
        Case("bytes=a-b", .whole),
        Case("bytes=--1", .whole),
        Case("bytes=0-9;q=1", .whole),
        Case("bytes=" + (0...64).map { "\($0 * 3)-\($0 * 3)" }.joined(separator: ","), .whole),
        // RFC 9110 §15.5.17
        Case("bytes=100000-", .none),
        Case("bytes=100000-200000", .none),
        Case("bytes=99999999999999999999-", .none),
        Case("bytes=-0", .none),
        Case("bytes=100000-,200000-", .none),
    ]

    @Test(arguments: StoreKind.allCases)
    func `a range is answered by RFC 9110, cold and stored`(store: StoreKind) throws {
        let films = Self.cases.indices.map { VirtualResource.film("\($0).mp4", seed: UInt64($0 + 1), length: Int64(Self.length)) }
        let world = try ProxyWorld(films, store: store)
        defer { world.stop() }
        let client = try world.connect()
        for (film, test) in zip(films, Self.cases) {
            for state in ["cold", "stored"] {
                let answer = try client.get(film.target, ["Range": test.range])
                check(answer, test, film, "\(test.range), \(state)")
                _ = try client.get(film.target)
            }
        }
        for (film, test) in zip(films, Self.cases) {
            #expect(world.origin.log.handedOver(film.url).duplicateBytes == 0, "\(test.range)")
        }
    }

    private func check(_ answer: ProxyClient.Answer, _ test: Case, _ film: VirtualResource, _ label: String) {
        switch test.expected {
        case .part(let range):
            #expect(answer.status == 206, "\(label)")
            #expect(answer["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.length)", "\(label)")
            #expect(answer["Content-Length"] == "\(range.count)", "\(label)")
            #expect(answer.body == film.bytes(range), "\(label)")
            #expect(answer["ETag"] == film.entityTag, "\(label)")
        case .whole:
            #expect(answer.status == 200, "\(label)")
            #expect(answer["Content-Range"] == nil, "\(label)")
            #expect(answer["Content-Length"] == "\(Self.length)", "\(label)")
            #expect(answer["Accept-Ranges"] == "bytes", "\(label)")
            #expect(answer.body == film.allBytes, "\(label)")
        case .none:
            #expect(answer.status == 416, "\(label)")
            #expect(answer["Content-Range"] == "bytes */\(Self.length)", "\(label)")
            #expect(answer.text.contains("\(Self.length) bytes"), "\(label)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `several ranges are answered as parts, in the order of the request`(store: StoreKind) throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], store: store)
        defer { world.stop() }
        let client = try world.connect()
        for state in ["cold", "stored"] {
            let answer = try client.get(film.target, ["Range": "bytes=90000-90099, 0-0, 100-70000, -5"])
            #expect(answer.status == 206)
            #expect(answer["Content-Range"] == nil)
            let parts = try #require(Multipart(answer), "\(state)")
            #expect(parts.ranges == [90_000..<90_100, 0..<1, 100..<70_001, 99_995..<100_000], "\(state)")
            #expect(parts.types == Array(repeating: "video/mp4", count: 4))
            #expect(parts.totals == Array(repeating: Self.length, count: 4))
            for (range, body) in zip(parts.ranges, parts.bodies) { #expect(body == film.bytes(range), "\(state), \(range)") }
            _ = try client.get(film.target)
        }
        #expect(world.origin.log.handedOver(film.url).duplicateBytes == 0)
    }

    @Test func `sixty-four ranges are answered as parts that are read one after another`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        let ranges = (0..<64).map { $0 * 1500..<$0 * 1500 + 700 }
        let field = "bytes=" + ranges.map { "\($0.lowerBound)-\($0.upperBound - 1)" }.joined(separator: ",")
        let parts = try #require(Multipart(try world.get(film.target, ["Range": field])))
        #expect(parts.ranges == ranges)
        #expect(zip(ranges, parts.bodies).allSatisfy { film.bytes($0) == $1 })
    }

    @Test func `an empty resource is answered with 200 for every range`() throws {
        let film = VirtualResource.film(length: 0)
        let world = try ProxyWorld([film])
        defer { world.stop() }
        let client = try world.connect()
        for range in [nil, "bytes=0-", "bytes=-5", "bytes=0-0"] as [String?] {
            let answer = try client.get(film.target, range.map { ["Range": $0] } ?? [:])
            #expect(answer.status == 200 && answer.body.isEmpty, "\(range ?? "no range")")
            #expect(answer["Content-Length"] == "0", "\(range ?? "no range")")
        }
    }

    @Test func `HEAD returns the length of the whole and ignores Range`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        let client = try world.connect()
        client.ask(film.target, method: "HEAD", ["Range": "bytes=0-9"])
        let answer = try client.answer(to: "HEAD")
        #expect(answer.status == 200)
        #expect(answer["Content-Length"] == "\(Self.length)")
        #expect(answer["Content-Range"] == nil)
        #expect(answer["Content-Type"] == "video/mp4")
        // No body follows the head, so the next answer begins with its own head.
        #expect(try client.get(film.target, ["Range": "bytes=0-9"]).body == film.bytes(0..<10))
    }

    /// Nothing ties another response to such a part, so no other one can bring the rest of the range.
    @Test(arguments: [
        ("bytes=50000-50099", "bytes 50000-50099/*"), ("bytes=50000-", "bytes 50000-99999/*"), ("bytes=0-", "bytes 0-99999/*"),
        ("bytes=-100", "bytes 99900-99999/*"), ("bytes=50000-90000", "bytes 50000-50699/*"),
    ])
    func `a part without a strong validator and a complete length is passed on as long as it is`(asked: String, sent: String) throws {
        let film = VirtualResource.film()
        guard case .part(let part, _) = try ContentRange(sent) else { return }
        let bytes = film.bytes(Int(part.lowerBound)..<Int(part.upperBound))
        let fields: HTTPFields = ["Content-Range": sent, "Content-Type": "video/mp4"]
        let world = try ProxyWorld([film]) { _, _ in .status(206, fields: fields, body: bytes) }
        defer { world.stop() }
        for _ in 0..<2 {
            let client = try world.connect()
            client.ask(film.target, ["Range": asked])
            let (answer, isWhole) = try client.answerOrPart()
            #expect(answer.status == 206 && answer["Content-Range"] == sent && isWhole && answer.body == bytes, "\(answer.head)")
        }
    }

    /// Players ask for the bytes from 0 on, also of a playlist. Nothing ties the part to a second one.
    @Test(arguments: ["list.m3u8", "list"])
    func `a playlist that comes as a part without its length is asked for as a whole`(name: String) throws {
        let text = Array("#EXTM3U\n#EXTINF:4,\n/1.ts\n#EXT-X-ENDLIST\n".utf8)
        let list = VirtualResource.film(name)
        let world = try ProxyWorld([list]) { request, _ in
            var fields: HTTPFields = ["Content-Type": "text/plain"]
            guard request.fields[.range] != nil else { return .status(200, fields: fields, body: text) }
            fields["Content-Range"] = "bytes 0-\(text.count - 1)/*"
            return .status(206, fields: fields, body: text)
        }
        defer { world.stop() }
        for _ in 0..<2 {
            let answer = try world.get(list.target, ["Range": "bytes=0-"])
            #expect(answer.status < 300 && answer.text.contains("\n/http/media.example/1.ts\n"), "\(answer.text)")
        }
    }
}
