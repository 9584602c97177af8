import Spool
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import SpoolTiers
import Testing

/// The decisions about another Spool that is asked before the origin.
@Suite struct ParentTests {
    private let proxy = ParentProxy("http://10.0.0.5:8080/token")

    private func asked(_ url: String, _ fields: HTTPFields = [:], _ change: (inout OriginRequest) -> Void = { _ in }) -> OriginRequest? {
        var request = OriginRequest(url: url, fields: fields)
        change(&request)
        return proxy?.request(for: request)
    }

    @Test func `a resource is asked for in the path form, with the same range and condition`() throws {
        let request = try #require(asked("https://media.example/a%20b.mp4?x=1", ["Range": "bytes=5-", "If-Range": "\"v\""]))
        #expect(request.url == "http://10.0.0.5:8080/token/https/media.example/a%20b.mp4?x=1")
        #expect(request.fields == ["Range": "bytes=5-", "If-Range": "\"v\""])
        #expect(!request.followsRedirects && request.connectTimeout == ParentProxy.connectTimeout)
        #expect(asked("http://media.example:81")?.url == "http://10.0.0.5:8080/token/http/media.example:81/")
    }

    @Test func `a revalidation reaches the origin behind the parent`() {
        #expect(asked("https://media.example/a.mp4", ["If-None-Match": "\"v\""])?.fields[.cacheControl] == "no-cache")
    }

    @Test func `credentials, playlists and other methods never reach the parent`() {
        #expect(asked("https://alice@media.example/a.mp4") == nil)
        #expect(asked("https://media.example/a.mp4", ["Authorization": "Basic x"]) == nil)
        #expect(asked("https://media.example/a.mp4", ["Cookie": "a=b"]) == nil)
        for name in ["X-Api-Key", "X-Plex-Token", "X-Auth-Token", "X-Emby-Authorization", "X-Anything"] {
            #expect(asked("https://media.example/a.mp4", [HTTPFields.Name(name): "secret"]) == nil, "\(name)")
        }
        #expect(asked("https://media.example/a.mp4", ["User-Agent": "tv", "Accept": "*/*", "Referer": "https://a.example/"]) != nil)
        #expect(asked("https://media.example/a.m3u8?x=1") == nil)
        #expect(asked("https://media.example/a.mp4") { $0.method = "HEAD" } == nil)
        #expect(asked("https://media.example/a.mp4") { $0.followsRedirects = false } == nil)
    }

    @Test(arguments: ["ftp://a/", "10.0.0.5:8080", "http://u@a/", "http://a/?url=", "http://a/#b"])
    func `another text is no parent`(text: String) { #expect(ParentProxy(text) == nil) }

    @Test func `a token is no part of the address for logs`() {
        #expect(proxy?.publicAddress == "http://10.0.0.5:8080")
    }

    @Test(
        arguments: [
            (206, ["Cache-Status": "spool; hit", "Content-Type": "video/mp4"], ParentProxy.Verdict.answer),
            (404, ["Cache-Status": "spool; fwd=uri-miss"], .answer), (304, ["Cache-Status": "spool; fwd=request"], .answer),
            (503, [:], .refusal), (403, [:], .refusal), (508, [:], .refusal), (200, ["Content-Type": "video/mp4"], .refusal),
            (
                502,
                [
                    "Cache-Status": "spool; fwd=uri-miss",
                    "Proxy-Status": "spool; error=destination_unavailable; details=\"no route\"",
                ], .askOrigin
            ),
            (200, ["Cache-Status": "spool; hit", "Content-Type": "application/vnd.apple.mpegurl"], .askOrigin),
            (200, ["Cache-Status": "spool; hit", "Content-Type": "text/plain"], .askOrigin),
        ] as [(Int, HTTPFields, ParentProxy.Verdict)])
    func `only what the parent says about the resource is an answer`(status: Int, fields: HTTPFields, verdict: ParentProxy.Verdict) {
        #expect(proxy?.judge(ResponseHead(status: status, fields: fields), of: "https://media.example/a") == verdict)
    }

    @Test func `a failed parent rests, is tried by one request, and rests longer`() {
        var health = ServerHealth()
        var now = MonotonicInstant(nanoseconds: 0)
        // A macro cannot change the value that it evaluates.
        var asks: Bool { mutating(&health) { $0.mayAsk(at: now) } }
        var rests: Bool { mutating(&health) { $0.failed(at: now) } }
        var returns: Bool { mutating(&health) { $0.answered() } }
        #expect(asks)
        #expect(rests)
        #expect(!rests, "requests that fail together count once")
        #expect(!asks)
        var pause = ServerHealth.firstPause
        for _ in 0..<10 {
            now = now + pause
            #expect(asks)
            #expect(!asks, "one request at a time")
            #expect(!rests)
            pause = min(2 * pause, ServerHealth.longestPause)
            now = now + (pause - 1)
            #expect(!asks)
            now = now + (1 - pause)
        }
        #expect(returns)
        #expect(!returns)
        #expect(asks)
    }

    private func mutating<Value, Result>(_ value: inout Value, _ change: (inout Value) -> Result) -> Result { change(&value) }
}

/// A request at the parent, with the origin as the way out.
@Suite struct ParentTransportTests {
    private let base = HandTransport()
    private let time = ManualTime()
    private let receiver = WordReceiver()
    private let messages = Locked([String]())
    private static let served: HTTPFields = ["Cache-Status": "spool; hit", "Content-Type": "video/mp4"]

    private func transport() throws -> ParentTransport {
        let parent = try #require(ParentProxy("http://parent/"))
        return ParentTransport(base, parent: parent, time: time, on: HandMailbox()) { [messages] text in
            messages.withLock { $0.append(text) }
        }
    }

    private func start(_ transport: ParentTransport) -> any Transfer {
        transport.start(OriginRequest(url: "https://media.example/a.mp4", fields: [:]), receiver: receiver)
    }

    @Test func `an answer of the parent is the only one`() throws {
        let transport = try transport()
        _ = start(transport)
        #expect(base.urls == ["http://parent/https/media.example/a.mp4"])
        base.answer(0, 206, Self.served)
        time.advance(by: .seconds(60))
        #expect(base.offer(0) == .taken)
        base.end(0, .complete)
        #expect(base.urls.count == 1 && receiver.words == ["206", "bytes", "complete"])
        #expect(messages.withLock { $0.isEmpty })
    }

    @Test func `the urgency of the readers reaches the parent, and the origin after it`() throws {
        let transfer = start(try transport())
        transfer.setPriority(.prefetch)
        base.end(0, .failed(.unreachable("refused")))
        #expect(base.priorities(of: 0) == [.prefetch] && base.priorities(of: 1) == [.prefetch])
    }

    @Test(arguments: [OriginError.unreachable("refused"), .timeout("silent")])
    func `a dead parent costs no answer, and the next request does not ask it`(error: OriginError) throws {
        let transport = try transport()
        _ = start(transport)
        base.end(0, .failed(error))
        #expect(base.urls.last == "https://media.example/a.mp4")
        base.answer(1, 200, [:])
        base.end(1, .complete)
        _ = start(transport)
        #expect(base.urls.last == "https://media.example/a.mp4" && base.urls.count == 3)
        #expect(receiver.words == ["200", "complete"])
        #expect(messages.withLock { $0.count } == 1)
        time.advance(by: ServerHealth.firstPause)
        _ = start(transport)
        #expect(base.urls.last == "http://parent/https/media.example/a.mp4")
        base.answer(3, 206, Self.served)
        #expect(messages.withLock { $0.last?.contains("serves again") } == true)
    }

    @Test(arguments: [true, false])
    func `after the connect time-out the origin is asked too, and the first answer counts`(parentWins: Bool) throws {
        let transport = try transport()
        _ = start(transport)
        time.advance(by: ParentProxy.connectTimeout - 1)
        #expect(base.urls.count == 1)
        time.advance(by: 1)
        #expect(base.urls.count == 2)
        let (winner, loser) = parentWins ? (0, 1) : (1, 0)
        base.answer(winner, 200, Self.served)
        #expect(base.cancelled == [loser])
        base.answer(loser, 206, Self.served)
        #expect(base.offer(loser) == .enough && base.offer(winner) == .taken)
        base.end(loser, .cancelled)
        base.end(winner, .complete)
        #expect(receiver.words == ["200", "bytes", "complete"])
        // A parent that is slower than the origin rests.
        #expect(messages.withLock { $0.count } == (parentWins ? 0 : 1))
    }

    @Test func `a refusal is not passed on, and its body is no part of the answer`() throws {
        let transport = try transport()
        _ = start(transport)
        base.answer(0, 503, [:])
        #expect(base.cancelled == [0] && base.offer(0) == .enough)
        base.end(0, .cancelled)
        base.answer(1, 200, [:])
        base.end(1, .complete)
        #expect(receiver.words == ["200", "complete"])
    }

    @Test func `a body that breaks ends the request, and the retry goes to the origin`() throws {
        let transport = try transport()
        _ = start(transport)
        base.answer(0, 206, Self.served)
        base.end(0, .failed(.truncated(afterBytes: 3)))
        #expect(receiver.words == ["206", "failed"])
        _ = start(transport)
        #expect(base.urls.last == "https://media.example/a.mp4")
    }

    @Test func `a parent whose body comes slowly is left, and the retry goes to the origin`() throws {
        let transport = try transport()
        _ = start(transport)
        base.answer(0, 206, Self.served)
        #expect(base.offer(0) == .taken)
        time.advance(by: .seconds(1))
        #expect(base.offer(0) == .taken)
        time.advance(by: .seconds(1))
        #expect(base.offer(0) == .enough)
        base.end(0, .cancelled)
        #expect(receiver.words == ["206", "bytes", "bytes", "bytes", "failed"])
        _ = start(transport)
        #expect(base.urls.last == "https://media.example/a.mp4")
    }

    @Test func `when the origin failed first, a refusing parent ends the request with the origin's failure`() throws {
        let transport = try transport()
        _ = start(transport)
        time.advance(by: ParentProxy.connectTimeout)
        base.end(1, .failed(.unreachable("no route")))
        #expect(receiver.words.isEmpty)
        base.answer(0, 503, [:])
        #expect(receiver.words == ["failed"] && base.cancelled == [0])
        base.end(0, .cancelled)
        #expect(receiver.words == ["failed"])
    }

    @Test(arguments: [false, true]) func `a cancelled request ends once`(isLate: Bool) throws {
        let transport = try transport()
        let transfer = start(transport)
        if isLate { time.advance(by: ParentProxy.connectTimeout) }
        transfer.cancel()
        #expect(base.cancelled.sorted() == (isLate ? [0, 1] : [0]))
        for number in base.cancelled { base.end(number, .cancelled) }
        time.advance(by: .seconds(60))
        #expect(receiver.words == ["cancelled"] && base.urls.count == (isLate ? 2 : 1))
    }
}
