import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Files that the system downloaded answer requests like their origin, or not at all.
@Suite struct ReceivedFileTests {
    private static let url = "http://origin.test/film.mp4"
    private static let content = OriginContent(seed: 5)
    private static let length: Int64 = 300_000
    private static let ticket: HTTPFields = ["X-Ticket": "7"]

    private func file(
        _ status: Int = 206, lower: Int64 = 100_000, fileBytes: Int64 = 200_000, ifRange: String? = "\"v1\"", fields: HTTPFields
    ) throws(ReceivedFile.Refusal) -> ReceivedFile {
        let request = ReceivedFile.Request(url: Self.url, lower: lower, ifRange: ifRange)
        let head = ResponseHead(status: status, fields: fields)
        return try ReceivedFile(head, for: request, fields: Self.ticket, fileBytes: fileBytes) { buffer, offset in
            Self.content.fill(buffer, at: lower + offset)
            return buffer.count
        }
    }

    private func refusal(_ status: Int, fileBytes: Int64, fields: HTTPFields) -> ReceivedFile.Refusal? {
        do {
            _ = try file(status, fileBytes: fileBytes, fields: fields)
            return nil
        } catch { return error }
    }

    private static let right: HTTPFields = ["Content-Range": "bytes 100000-299999/300000", "ETag": "\"v1\"", "Content-Type": "video/mp4"]

    @Test func `a part with the requested beginning, length and version is used`() throws {
        let found = try file(fields: Self.right)
        #expect(found.range == ByteRange(100_000, 300_000) && found.length == Self.length && found.validator == "\"v1\"")
    }

    @Test(
        arguments: [
            (200, 200_000, ["ETag": "\"v2\""], .otherVersion),
            (206, 200_000, ["Content-Range": "bytes 100000-299999/300000", "ETag": "\"v2\""], .otherVersion),
            (206, 200_000, ["Content-Range": "bytes 100000-299999/300000", "ETag": "W/\"v1\""], .otherVersion),
            (206, 200_000, ["Content-Range": "bytes 100000-299999/300000"], .otherVersion),
            (
                206, 199_999, ["Content-Range": "bytes 100000-299999/300000", "ETag": "\"v1\""],
                .wrongSize(fileBytes: 199_999, stated: 200_000)
            ),
            (206, 200_000, ["Content-Range": "bytes 100000-299999/*", "ETag": "\"v1\""], .unknownLength),
            (206, 200_000, ["ETag": "\"v1\""], .noRange), (206, 200_000, ["Content-Range": "nonsense", "ETag": "\"v1\""], .noRange),
            (
                206, 200_000, ["Content-Range": "bytes 100000-299999/300000", "ETag": "\"v1\"", "Content-Encoding": "br"],
                .contentCoding("br")
            ),
            (416, 0, ["Content-Range": "bytes */300000"], .status(416)), (404, 9, [:], .status(404)),
        ] as [(Int, Int64, HTTPFields, ReceivedFile.Refusal)])
    func `a file of anything else is refused, with the reason`(
        status: Int, bytes: Int64, fields: HTTPFields, refusal: ReceivedFile.Refusal
    ) {
        #expect(self.refusal(status, fileBytes: bytes, fields: fields) == refusal)
    }

    @Test func `a part from the first byte has the version of the stored bytes, if there are any`() throws {
        let fields: HTTPFields = ["Content-Range": "bytes 0-199999/300000", "ETag": "\"v2\""]
        #expect(try file(lower: 0, ifRange: nil, fields: fields).validator == "\"v2\"")
        #expect(throws: ReceivedFile.Refusal.otherVersion) { try file(lower: 0, ifRange: "\"v1\"", fields: fields) }
    }

    @Test func `a whole resource is used only if its response states the length`() throws {
        #expect(try file(200, lower: 0, ifRange: nil, fields: ["Content-Length": "200000"]).length == 200_000)
        #expect(throws: ReceivedFile.Refusal.unknownLength) { try file(200, lower: 0, ifRange: nil, fields: [:]) }
        #expect(throws: ReceivedFile.Refusal.wrongSize(fileBytes: 200_000, stated: 200_001)) {
            try file(200, lower: 0, ifRange: nil, fields: ["Content-Length": "200001"])
        }
    }

    @Test func `a part that begins elsewhere is refused`() {
        let fields: HTTPFields = ["Content-Range": "bytes 0-199999/300000", "ETag": "\"v1\""]
        let range = ByteRange(0, 200_000)
        #expect(range.map { refusal(206, fileBytes: 200_000, fields: fields) == .otherRange($0, asked: 100_000) } == true)
    }

    /// A world in which a file is offered and requests are made.
    private func ask(_ fields: HTTPFields, comparesBytes: Bool = true) throws -> (probe: TransferProbe, origins: Int) {
        let simulator = Simulator(seed: 1)
        let origin = ScriptedOrigin(
            [VirtualResource(url: Self.url, seed: 5, length: Self.length)], mailbox: simulator.mailbox("origin"), time: simulator,
            random: simulator)
        let transport = ReceivedFilesTransport(origin, on: simulator.mailbox("disk"))
        let offered = transport.offer(try file(fields: Self.right))
        #expect(offered)
        let first = RangeHeader(fields)?.specs.first
        var lower: Int64 = 0
        if case .bounded(let value, _) = first { lower = value }
        if case .from(let value) = first { lower = value }
        // A response of another request of the origin may begin elsewhere.
        let probe = TransferProbe(comparesBytes ? Self.content : nil, from: lower)
        probe.start(OriginRequest(url: Self.url, fields: fields), on: transport)
        simulator.runUntilIdle()
        #expect(probe.value.end == .complete && probe.value.violations == [])
        return (probe, origin.log.entries.count)
    }

    @Test(arguments: ["bytes=100000-", "bytes=150000-159999", "bytes=250000-999999"])
    func `requests for bytes of the file cost the origin nothing`(range: String) throws {
        let (probe, origins) = try ask(["Range": range, "If-Range": "\"v1\"", "x-ticket": "7"])
        #expect(origins == 0 && probe.value.head?.status == 206 && probe.value.head?.fields["Content-Type"] == "video/mp4")
        #expect(probe.value.head?.fields["Content-Length"] == "\(probe.value.bytes)")
    }

    @Test(
        arguments: [
            ["Range": "bytes=0-", "X-Ticket": "7"], ["Range": "bytes=99999-", "X-Ticket": "7"], ["X-Ticket": "7"],
            ["Range": "bytes=-5", "X-Ticket": "7"], ["Range": "bytes=100000-", "If-Range": "\"v2\"", "X-Ticket": "7"],
            ["Range": "bytes=100000-", "If-None-Match": "\"v1\"", "X-Ticket": "7"],
            ["Range": "bytes=100000-"], ["Range": "bytes=100000-", "X-Ticket": "8"],
        ] as [HTTPFields])
    func `every other request goes to the origin`(fields: HTTPFields) throws {
        let origins = try ask(fields, comparesBytes: false).origins
        #expect(origins == 1)
    }
}
