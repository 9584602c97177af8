import Foundation
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting
import SpoolURLSession
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Tests how the transport on `URLSession` handles the behaviour of `URLSession`.
@Suite(.timeLimit(.minutes(20)))
struct URLSessionTransportTests {
    private func withWorld(
        _ options: URLSessionTransportOptions = .patient, _ behaviour: OriginBehaviour = .correct,
        _ body: (RawOrigin, URLSessionTransport) throws -> Void
    ) throws {
        let origin = try RawOrigin([VirtualResource(url: "/v", seed: 4, length: 4_000_000)]) { _, _ in behaviour }
        defer { origin.stop() }
        let transport = URLSessionTransport(options: options)
        defer { transport.close() }
        try body(origin, transport)
    }

    private func start(
        _ origin: RawOrigin, _ transport: URLSessionTransport, _ fields: HTTPFields = [:],
        reaction: @escaping TransferProbe.Reaction = { _, _ in .taken }
    ) -> TransferProbe {
        let probe = TransferProbe(OriginContent(seed: 4), reaction: reaction)
        probe.start(OriginRequest(url: origin.url("/v"), fields: fields), on: transport)
        return probe
    }

    /// The lines are those of public logs.
    @Test(arguments: [
        ("iPhone", "21F90", (17, 5, 0), "de_DE", "AppleCoreMedia/1.0.0.21F90 (iPhone; U; CPU OS 17_5 like Mac OS X; de_de)"),
        ("Apple TV", "20L563", (16, 5, 0), "en_US", "AppleCoreMedia/1.0.0.20L563 (Apple TV; U; CPU OS 16_5 like Mac OS X; en_us)"),
        ("Macintosh", "19H2", (10, 15, 7), "en_US", "AppleCoreMedia/1.0.0.19H2 (Macintosh; U; Intel Mac OS X 10_15_7; en_us)"),
        ("iPad", "22A1", (18, 0, 1), "eo", "AppleCoreMedia/1.0.0.22A1 (iPad; U; CPU OS 18_0_1 like Mac OS X; eo)"),
    ])
    func `the value of User-Agent like a player's names the system and no app`(
        device: String, build: String, version: (Int, Int, Int), locale: String, text: String
    ) {
        let system = OperatingSystemVersion(majorVersion: version.0, minorVersion: version.1, patchVersion: version.2)
        #expect(PlayerUserAgent.text(device: device, build: build, version: system, locale: locale) == text)
    }

    @Test(arguments: [
        ("http://user:secret@origin.test/a", "Basic dXNlcjpzZWNyZXQ="), ("https://us%40er:p%3Aw@origin.test/", "Basic dXNAZXI6cDp3"),
        ("http://user@origin.test/", "Basic dXNlcjo="), ("http://origin.test/", nil), ("http://origin.test/user:secret@x", nil),
    ])
    func `credentials in a URL become a Basic field`(url: String, field: String?) throws {
        #expect(BasicCredentials.field(for: try #require(URL(string: url))) == field)
    }

    @Test func `a request for a URL with credentials carries them, unless it has its own`() throws {
        try withWorld { origin, transport in
            let url = origin.url("/v").replacing("http://", with: "http://user:secret@")
            for fields: HTTPFields in [[:], ["Authorization": "Bearer mine"]] {
                let probe = TransferProbe(OriginContent(seed: 4))
                probe.start(OriginRequest(url: url, fields: fields), on: transport)
                #expect(probe.waitForEnd() == .complete)
            }
            let sent = origin.log.entries.map { $0.request.fields["Authorization"] }
            #expect(sent == ["Basic dXNlcjpzZWNyZXQ=", "Bearer mine"])
        }
    }

    @Test func `a request of a player comes before one of a download on the same connection`() {
        let priorities = [ReadPriority.prefetch, .upcoming, .playing].map(URLSessionTransport.taskPriority)
        #expect(priorities == priorities.sorted() && Set(priorities).count == 3)
    }

    @Test func `a refusal of App Transport Security leaves the URL to the player`() {
        let error = NSError(domain: NSURLErrorDomain, code: -1022)
        let found = OriginError.urlSession(error, bodyBytes: nil)
        guard case .unsupportedURL(let words) = found else { return unexpected(found) }
        #expect(words.contains("App Transport Security"))
    }

    @Test func `an origin may take a minute for the first byte, and a request with a condition eight seconds`() {
        let options = URLSessionTransportOptions()
        #expect(options.firstByteTimeout == .seconds(60) && options.shortFirstByteTimeout == .seconds(8))
    }

    @Test(arguments: [
        ("http://a.test/x?sig=a%2Bb|c", "http://a.test/x?sig=a%2Bb%7Cc"),
        ("http://a.test/[1]{2}^?q=[x]", "http://a.test/%5B1%5D%7B2%7D%5E?q=%5Bx%5D"),
        ("http://[::1]:80/a", "http://[::1]:80/a"), ("http://a.test/100%", "http://a.test/100%25"), ("http://a.test", "http://a.test"),
        ("http://a.test/ü", "http://a.test/%C3%BC"), ("http://a.test/a%20b?c=d#e", "http://a.test/a%20b?c=d#e"), ("nonsense", "nonsense"),
    ])
    func `only the bytes that a URL may not contain are encoded`(url: String, escaped: String) throws {
        #expect(URLText.escaped(url) == escaped)
        #expect(URLText.escaped(escaped) == escaped)
    }

    @Test func `a request is measured by the clock where the session has no metrics`() throws {
        try withWorld { origin, transport in
            let probe = start(origin, transport)
            #expect(probe.waitForEnd() == .complete)
            let timings = try #require(probe.value.timings)
            #expect(timings.receivedBytes >= 4_000_000)
            #expect(try timings.total >= #require(timings.firstByte))
        }
    }

    @Test func `the metrics of a session become timings of the last request with the bytes of all`() throws {
        var first = SessionTransaction(), last = SessionTransaction()
        (first.fetchStart, first.connectEnd, first.responseEnd, first.receivedBytes) = (10, 10.5, 11, 300)
        (last.fetchStart, last.connectEnd, last.responseStart, last.responseEnd) = (20, 20.25, 20.5, 22.5)
        (last.receivedBytes, last.protocolName) = (4000, "h2")
        var timings = try #require(SessionTransaction.timings(of: [first, last]))
        #expect(timings.connect == .milliseconds(250) && timings.firstByte == .milliseconds(500))
        #expect(timings.total == .milliseconds(2500) && timings.receivedBytes == 4300 && timings.bytesPerSecond == 2150)
        #expect(timings.protocolName == "h2" && timings.reusesConnection == false)
        last.reusesConnection = true
        timings = try #require(SessionTransaction.timings(of: [last]))
        #expect(timings.connect == nil && timings.reusesConnection == true)
        #expect(SessionTransaction.timings(of: []) == nil && SessionTransaction.timings(of: [SessionTransaction()]) == nil)
    }

    @Test func `the transport requests windows of 2 MiB`() {
        let transport = URLSessionTransport()
        defer { transport.close() }
        #expect(transport.windowBytes == 2 << 20)
    }

    @Test func `a request has its own fields and asks for no content coding`() throws {
        try withWorld { origin, transport in
            _ = start(origin, transport, ["Range": "bytes=0-9", "If-Range": "\"v4\"", "X-Two": "a", "x-two": "b"]).waitForEnd()
            let fields = try #require(origin.log.entries.first).request.fields
            #expect(fields["Accept-Encoding"] == "identity")
            #expect(fields["User-Agent"] == "Spool")
            #expect(fields["Range"] == "bytes=0-9")
            #expect(fields["If-Range"] == "\"v4\"")
            #expect(fields["Cookie"] == nil)
        }
    }

    @Test func `without a name of Spool's own, the session names the app`() throws {
        var options = URLSessionTransportOptions.patient
        options.userAgent = nil
        try withWorld(options) { origin, transport in
            #expect(start(origin, transport).waitForEnd() == .complete)
            let sent = try #require(origin.log.entries.first).request.fields
            #expect(sent["User-Agent"] != "Spool")
        }
    }

    @Test func `a coded body is rejected, because URLSession would decode it`() throws {
        try withWorld(.patient, .fields(["Content-Encoding": "gzip"], .correct)) { origin, transport in
            let probe = start(origin, transport)
            let found = probe.waitForEnd()
            guard case .failed(.malformed) = found else { return unexpected(found) }
            #expect(probe.value.bytes == 0)
            #expect(probe.value.head == nil)
        }
    }

    @Test(arguments: ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"y\"", "Bearer"])
    func `a 401 is passed on as an answer`(challenge: String) throws {
        let behaviour = OriginBehaviour.status(401, fields: ["WWW-Authenticate": challenge], body: Array("no".utf8))
        try withWorld(.patient, behaviour) { origin, transport in
            let probe = TransferProbe()
            probe.start(OriginRequest(url: origin.url("/v"), fields: [:]), on: transport)
            #expect(probe.waitForEnd() == .complete)
            #expect(probe.value.head?.status == 401)
        }
    }

    @Test func `an app may configure the session, but not enable its caches`() throws {
        var options = URLSessionTransportOptions.patient
        let made = Locked(0)
        options.makeConfiguration = {
            made.withLock { $0 += 1 }
            let configuration = URLSessionConfiguration.default
            configuration.httpAdditionalHeaders = ["X-App": "1"]
            configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
            return configuration
        }
        try withWorld(options) { origin, transport in
            for _ in 0..<2 { #expect(start(origin, transport, ["Range": "bytes=0-9"]).waitForEnd() == .complete) }
            // The transport creates one session, and only the origin answers.
            #expect(made.withLock { $0 } == 1)
            #expect(origin.log.entries.count == 2)
            #expect(origin.log.entries.allSatisfy { $0.request.fields["X-App"] == "1" })
        }
    }

    /// A session keeps its delegate until it is invalidated, and the delegate keeps the app's
    /// configuration.
    @Test func `a closed transport releases its delegate`() async throws {
        final class Canary: Sendable {
            let onEnd: @Sendable () -> Void
            init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
            deinit { onEnd() }
        }
        let origin = try RawOrigin([VirtualResource(url: "/v", seed: 4, length: 100_000)]) { _, _ in .correct }
        defer { origin.stop() }
        await withCheckedContinuation { continuation in
            let canary = Canary { continuation.resume() }
            var options = URLSessionTransportOptions.patient
            options.onChallenge = { _, answer in withExtendedLifetime(canary) { answer(.performDefaultHandling, nil) } }
            let transport = URLSessionTransport(options: options)
            #expect(start(origin, transport).waitForEnd() == .complete)
            transport.close()
        }
    }

    @Test func `two entity tags that the system joined are none`() {
        func tag(_ value: String) -> String? { TaskAnswer.fields([.init(name: "ETag", value: value)])[.entityTag] }
        #expect(tag("\"a\"") == "\"a\"" && tag("W/\"a, b\"") == "W/\"a, b\"")
        #expect(tag("\"a\", \"b\"") == nil && tag("W/\"a\",\"b\"") == nil)
    }

    @Test func `a second response on one request, and more bytes than promised, end a transfer as malformed`() {
        var answer = TaskAnswer()
        #expect(answer.headReceived(promising: 10) == nil)
        #expect(answer.bytesReceived(6) == nil && answer.isShort && !answer.isWhole)
        #expect(answer.headReceived(promising: 10) != nil)
        #expect(answer.bytesReceived(5) != nil && answer.arrivedBytes == 6)
        #expect(answer.bytesReceived(4) == nil && answer.isWhole && !answer.isShort)
        #expect(answer.bytesReceived(1) != nil)
        var unbounded = TaskAnswer()
        #expect(unbounded.headReceived(promising: nil) == nil)
        #expect(unbounded.bytesReceived(1 << 40) == nil && unbounded.bytesReceived(.max) != nil)
        #expect(!unbounded.isShort && !unbounded.isWhole)
    }

    /// A pause can't stop the origin. The buffer for the receiver is bounded, and the receiver can
    /// continue with a new request.
    @Test func `an origin that sends too much during a pause is cut off`() throws {
        var options = URLSessionTransportOptions.patient
        options.maxBufferedBytes = 1_000_000
        try withWorld(options) { origin, transport in
            let probe = start(origin, transport) { probe, offset in offset >= 100_000 && probe.value.pauses == 0 ? .pause : .taken }
            #expect(probe.wait { $0.pauses == 1 })
            // The connection ends when too much is buffered.
            while origin.openConnectionCount > 0 {
                _ = start(origin, transport, ["Range": "bytes=0-9", "Connection": "close"]).waitForEnd()
            }
            probe.transfer?.resume()
            #expect(probe.waitForEnd() == .failed(.truncated(afterBytes: probe.value.bytes)))
            #expect(probe.value.bytes >= 1_000_000 && probe.value.bytes < 4_000_000)
            #expect(probe.value.violations == [])
        }
    }
}
