import SpoolCore
import Testing

/// Tests the questions about the end of a version: after a body that the end of its connection
/// ended, and for readers behind a stored end.
@Suite struct SessionEndTests {
    private static let weak: HTTPFields = ["ETag": "W/\"v1\"", "Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT"]

    /// A session whose first body had no length and ended with its connection after 1000 bytes.
    private func closed(fields: HTTPFields = SessionProbe.etag) -> SessionProbe {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        end(probe, probe.startedIDs[0], at: 1000, fields: fields)
        #expect(probe.read(reader) == 1000)
        #expect(probe.step(reader) == .end)
        probe.leave(reader)
        probe.forgetActions()
        return probe
    }

    /// Answers a fetch with the whole, whose end only the connection shows.
    private func end(_ probe: SessionProbe, _ fetch: FetchID, at length: Int64, fields: HTTPFields = SessionProbe.etag) {
        probe.full(fetch, length: nil, fields: fields, endsByClose: true)
        probe.body(fetch, length)
        probe.finish(fetch)
        probe.store(fetch)
    }

    @Test func `a later reader asks for the bytes behind an end that only the connection showed`() {
        let probe = closed()
        #expect(probe.machine.version?.representation.endsByClose == true)
        let reader = probe.join(0)
        #expect(probe.prepare(reader) == .wait)
        var ask = OriginAsk(lower: 1000, upper: nil, ifRange: "\"v1\"", revalidation: Revalidation(entityTag: nil, lastModified: nil))
        ask.isBrief = true
        #expect(probe.starts == [ask])
    }

    @Test func `a 416 confirms the end, and no further reader asks`() {
        let probe = closed()
        let reader = probe.join(0)
        _ = probe.prepare(reader)
        probe.head(probe.startedIDs[0], 416, ["Content-Range": "bytes */1000"])
        #expect(probe.read(reader) == 1000)
        let next = probe.join(0)
        #expect(probe.read(next) == 1000)
        #expect(probe.starts.count == 1)
        #expect(probe.machine.version?.representation.endsByClose == false)
    }

    @Test func `a 206 continues a body that was cut`() {
        let probe = closed()
        let reader = probe.join(0)
        _ = probe.prepare(reader)
        probe.partial(probe.startedIDs[0], 1000, 3000, total: 3000)
        probe.body(probe.startedIDs[0], 2000)
        #expect(probe.read(reader) == 3000)
        #expect(probe.machine.version?.representation.length == 3000)
        #expect(probe.changes == [])
    }

    @Test func `a 200 of the same version continues a body that was cut`() {
        let probe = closed()
        let reader = probe.join(0)
        _ = probe.prepare(reader)
        end(probe, probe.startedIDs[0], at: 3000)
        #expect(probe.read(reader) == 3000)
        #expect(probe.changes == [])
        #expect(probe.machine.version?.representation.endsByClose == true)
    }

    @Test func `a second body that ends at the same byte confirms the end`() {
        for fields in [SessionProbe.etag, Self.weak, [:]] {
            let probe = closed(fields: fields)
            let reader = probe.join(0)
            _ = probe.prepare(reader)
            end(probe, probe.startedIDs[0], at: 1000, fields: fields)
            #expect(probe.read(reader) == 1000)
            #expect(probe.machine.version?.representation.endsByClose == false)
        }
    }

    @Test func `without a strong validator the question is a conditional request`() {
        let probe = closed(fields: Self.weak)
        let reader = probe.join(0)
        _ = probe.prepare(reader)
        #expect(probe.starts[0].revalidation?.entityTag == "W/\"v1\"")
        probe.head(probe.startedIDs[0], 304, Self.weak)
        #expect(probe.read(reader) == 1000)
        #expect(probe.machine.version?.representation.endsByClose == false)
    }

    @Test func `an origin out of reach leaves the end as it is`() {
        let probe = closed()
        let reader = probe.join(0)
        _ = probe.prepare(reader)
        probe.finish(probe.startedIDs[0], .unreachable("down"))
        #expect(probe.read(reader) == 1000)
        #expect(probe.machine.version?.representation.endsByClose == true)
    }

    @Test func `a reader that got the short length keeps it`() {
        let probe = closed()
        let told = probe.join(0)
        _ = probe.prepare(told)
        probe.finish(probe.startedIDs[0], .unreachable("down"))
        #expect(probe.read(told, upTo: 10) == 10)
        probe.pass(.seconds(10))
        let next = probe.join(0)
        _ = probe.prepare(next)
        probe.partial(probe.startedIDs[1], 1000, 3000, total: 3000)
        probe.body(probe.startedIDs[1], 2000)
        #expect(probe.read(told) == 990)
        #expect(probe.step(told) == .end)
        #expect(probe.read(next) == 3000)
    }

    // MARK: Readers behind the end

    private static let noCache = UseRules(request: CacheControl("no-cache"))

    @Test func `a reader behind a stored end asks for bytes there once in ten seconds`() {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [0...999])
        #expect(probe.claimsEndQuestion())
        let reader = probe.join(1000, rules: Self.noCache)
        #expect(probe.prepare(reader) == .wait)
        #expect(probe.starts[0].lower == 1000)
        #expect(probe.starts[0].ifRange == "\"v1\"")
        probe.head(probe.startedIDs[0], 416, ["Content-Range": "bytes */1000"])
        guard case .ready = probe.prepare(reader) else { return unexpected(probe.prepare(reader)) }
        #expect(!probe.claimsEndQuestion())
        probe.pass(.seconds(10))
        #expect(probe.claimsEndQuestion())
    }

    @Test func `another version behind the end is the answer`() {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [0...999])
        let reader = probe.join(1000, rules: Self.noCache)
        _ = probe.prepare(reader)
        probe.partial(probe.startedIDs[0], 1000, 3000, total: 3000, fields: ["ETag": "\"v2\""])
        probe.body(probe.startedIDs[0], 2000)
        #expect(probe.read(reader) == 2000)
        #expect(probe.machine.version?.representation.length == 3000)
        #expect(probe.changes.count == 1)
    }

    @Test func `nothing is asked behind the end of an immutable version`() {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [0...999], fields: ["ETag": "\"v1\"", "Cache-Control": "immutable"])
        #expect(!probe.claimsEndQuestion())
    }
}
