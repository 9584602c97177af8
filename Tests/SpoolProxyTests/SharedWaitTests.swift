import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// Clients that wait for one answer which no later client may have.
@Suite(.timeLimit(.minutes(20))) struct SharedWaitTests {
    struct Row: CustomTestStringConvertible {
        var testDescription: String
        var head: HTTPFields
        var target = "/https/origin.example/live.m3u8"
        var fields: [HTTPFields] = [[:], [:], [:]]
        var bytes = 200_000
        var isShared = false
        var requests: Int
    }

    private static let playlist = "application/vnd.apple.mpegurl"

    static let rows = [
        Row(testDescription: "a playlist", head: ["Cache-Control": "no-store", "Content-Type": playlist], requests: 1),
        Row(
            testDescription: "a film", head: ["Cache-Control": "no-store", "Content-Type": "video/mp4"], target: "/https/origin.example/a",
            requests: 1),
        Row(
            testDescription: "a part without a validator", head: ["Content-Type": "video/mp4"], target: "/https/origin.example/a.mp4",
            fields: Array(repeating: ["Range": "bytes=50000-"], count: 3), requests: 1),
        Row(
            testDescription: "a playlist with a part that is announced", head: ["Content-Type": playlist],
            target: "/https/origin.example/live.m3u8?_HLS_msn=5&_HLS_part=0", requests: 1),
        Row(
            testDescription: "more than a relay remembers", head: ["Cache-Control": "no-store", "Content-Type": "video/mp4"],
            bytes: 300_000, requests: 3),
        Row(
            testDescription: "a document", head: ["Cache-Control": "no-store", "Content-Type": "application/json"],
            target: "/https/origin.example/a", requests: 3),
        Row(testDescription: "a private answer", head: ["Cache-Control": "no-store, private", "Content-Type": playlist], requests: 3),
        Row(
            testDescription: "an answer with a cookie",
            head: ["Cache-Control": "no-store", "Content-Type": playlist, "Set-Cookie": "session=1"], requests: 3),
        Row(
            testDescription: "other fields", head: ["Cache-Control": "no-store", "Content-Type": playlist],
            fields: [["X-App": "a"], ["X-App": "b"], ["X-App": "a"]], requests: 2),
        Row(
            testDescription: "other ranges", head: ["Content-Type": "video/mp4"], target: "/https/origin.example/a.mp4",
            fields: [["Range": "bytes=50000-"], ["Range": "bytes=60000-"], ["Range": "bytes=50000-"]], requests: 2),
        Row(
            testDescription: "several users", head: ["Cache-Control": "no-store", "Content-Type": playlist], isShared: true, requests: 3),
    ]

    @Test(arguments: rows)
    func `clients of one user with equal requests share media that must not be stored, and later ones do not`(row: Row) throws {
        let origin = HeldOrigin(row.head, bytes: row.bytes)
        let world = try ProxyWorld(transport: origin, configuration: { $0.freshness.isShared = row.isShared })
        defer { world.stop() }
        let clients = try row.fields.enumerated().map { index, fields in
            let client = try world.connect()
            client.ask(row.target, fields)
            try world.waitForReaders(Int64(index) + 1)
            return client
        }
        world.wait("the origin is asked", until: { origin.count == 1 })
        origin.release()
        for (client, fields) in zip(clients, row.fields) {
            let answer = try client.answer()
            #expect(answer.body == origin.bytes(fields), "\(fields.lines)")
        }
        #expect(origin.count == row.requests)
        #expect(try world.get(row.target, row.fields[0]).body == origin.bytes(row.fields[0]))
        #expect(origin.count == row.requests + 1)
    }
}

/// An origin that keeps its answers back until it is released.
private final class HeldOrigin: Transport {
    private struct State {
        var held: [(LaneTransfer, OriginRequest)] = []
        var isOpen = false
        var count = 0
    }

    private let head: HTTPFields
    private let all: [UInt8]
    private let lane = DiskLane(name: "held origin")
    private let state = Locked(State())

    init(_ head: HTTPFields, bytes: Int) {
        self.head = head
        // A playlist needs its first line, and no other has a meaning.
        all = Array("#EXTM3U\n".utf8) + (8..<bytes).map { $0 % 64 == 0 ? 0x0A : 0x23 }
    }

    /// The number of requests.
    var count: Int { state.withLock { $0.count } }

    func bytes(_ fields: HTTPFields) -> [UInt8] { Array(all[part(fields)]) }

    private func part(_ fields: HTTPFields) -> Range<Int> {
        guard let value = fields[.range], case .ranges(let ranges)? = RangeHeader(value)?.resolve(length: Int64(all.count)) else {
            return all.indices
        }
        return Int(ranges[0].lowerBound)..<Int(ranges[0].upperBound)
    }

    /// Answers the requests so far, and all later ones at once.
    func release() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for (transfer, request) in held { answer(transfer, request) }
    }

    var windowBytes: Int64? { nil }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let transfer = LaneTransfer(receiver, lane)
        let isOpen = state.withLock { state in
            state.count += 1
            if !state.isOpen { state.held.append((transfer, request)) }
            return state.isOpen
        }
        if isOpen { answer(transfer, request) }
        return transfer
    }

    private func answer(_ transfer: LaneTransfer, _ request: OriginRequest) {
        lane.post { [self] in
            var fields = head
            let part = part(request.fields), isWhole = request.fields[.range] == nil
            fields["Content-Length"] = String(part.count)
            if !isWhole { fields["Content-Range"] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(all.count)" }
            transfer.send(ResponseHead(status: isWhole ? 200 : 206, fields: fields), Array(all[part]))
        }
    }

    func close() { lane.shutdown() }
}
