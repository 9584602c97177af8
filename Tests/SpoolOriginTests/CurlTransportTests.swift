#if os(Linux)
import SpoolCore
import SpoolLibc
import SpoolOrigin
import SpoolSystem
import SpoolTesting
import Testing

/// Tests libcurl's transport beyond the contract.
@Suite(.timeLimit(.minutes(20)))
struct CurlTransportTests {
    /// A socket origin with one resource of 1 MB, and a transport.
    final class World {
        let origin: RawOrigin
        let transport: CurlTransport
        let content = OriginContent(seed: 4)
        static let length: Int64 = 1_000_000

        init(
            _ options: CurlTransportOptions = .patient, time: (any TimeSource)? = nil,
            script: @escaping OriginScript = { _, _ in .correct }
        ) throws {
            origin = try RawOrigin([VirtualResource(url: "/v", seed: 4, length: Self.length)], script: script)
            transport = CurlTransport(options: options, time: time)
        }

        deinit {
            transport.close()
            origin.stop()
        }

        func start(
            _ fields: HTTPFields = [:], isPatient: Bool = false, _ reaction: @escaping TransferProbe.Reaction = { _, _ in .taken }
        ) -> TransferProbe {
            let probe = TransferProbe(content, isPatient: isPatient, reaction: reaction)
            probe.start(OriginRequest(url: origin.url("/v"), fields: fields), on: transport)
            return probe
        }
    }

    // MARK: Codings

    // The bytes are `#EXTM3U\n/a.ts\n/a.ts\n` in gzip. A decoder of several codings would take gigabytes
    // for a few bytes, on the thread of all transfers.
    @Test(arguments: [
        ("gzip", true), ("x-gzip", true), ("identity, gzip", true), ("gzip, gzip", false), ("gzip, deflate", false), ("br", false),
        ("zstd", false), ("utf-8, gzip", false),
    ])
    func `one coding of a manifest is removed, and several codings and others stay`(coding: String, isRemoved: Bool) throws {
        let coded: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3, 0x53, 0x76, 0x8D, 8, 0xF1, 0x35, 0x0E, 0xE5, 0xD2, 0x4F, 0xD4, 0x2B, 0x29, 0x86, 0x92, 0,
            0x73, 0x55, 0x8A, 0x34, 0x14, 0, 0, 0,
        ]
        let world = try World { _, _ in .status(200, fields: [.contentEncoding: coding], body: coded) }
        let probe = TransferProbe()
        var request = OriginRequest(url: world.origin.url("/v"), fields: [:])
        request.decodesContent = true
        probe.start(request, on: world.transport)
        #expect(probe.waitForEnd() == .complete)
        #expect(probe.value.bytes == (isRemoved ? 20 : Int64(coded.count)))
        #expect(probe.value.head?.fields.contains(.contentEncoding) == !isRemoved)
        #expect(world.origin.log.entries.first?.request.fields["Accept-Encoding"] == "identity")
    }

    // MARK: Digest

    /// Asks for the resource as user `u` with the password `p4ss`, where a challenge by Digest is
    /// answered.
    private func askAsUser(_ world: World) -> TransferProbe {
        let probe = TransferProbe()
        let url = "http://u:p4ss@" + world.origin.url("/v").dropFirst("http://".count)
        probe.start(OriginRequest(url: url, fields: [:]), on: RedirectingTransport(world.transport))
        return probe
    }

    @Test func `an origin that asks for Digest gets the user information of the URL by it, and never in clear again`() throws {
        let world = try World { request, _ in
            let answer = request.fields[.authorization] ?? ""
            let isAnswer = ["Digest ", "username=\"u\"", "uri=\"/v\"", "nonce=\"abc\"", "response="].allSatisfy(answer.contains)
            let challenge = "Digest realm=\"cam\", nonce=\"abc\", qop=\"auth\""
            return isAnswer && !answer.contains("p4ss") ? .correct : .status(401, fields: [.wwwAuthenticate: challenge], body: [1, 2])
        }
        let probe = askAsUser(world)
        #expect(probe.waitForEnd() == .complete)
        #expect(probe.value.head?.status == 200 && probe.value.bytes == World.length)
        #expect(world.origin.log.entries.map { $0.request.fields[.authorization]?.prefix(5) } == ["Basic", nil, "Diges"])
    }

    @Test(arguments: [
        "Digest realm=\"cam\", nonce=\"abc\", algorithm=NONE", "Basic realm=\"cam\"", "Digest realm=\"a\", nonce=\"b\", Basic realm=\"c\"",
        "Bearer",
    ])
    func `a challenge that the user information cannot answer is the answer`(challenge: String) throws {
        let world = try World { _, _ in .status(401, fields: [.wwwAuthenticate: challenge], body: [1, 2]) }
        let probe = askAsUser(world)
        #expect(probe.waitForEnd() == .complete)
        #expect(probe.value.head?.status == 401 && probe.value.head?.fields[.wwwAuthenticate] == challenge)
    }

    @Test func `wrong user information ends with the origin's refusal, after three requests`() throws {
        let world = try World { _, _ in .status(401, fields: [.wwwAuthenticate: "Digest realm=\"a\", nonce=\"b\""], body: [1, 2]) }
        let probe = askAsUser(world)
        #expect(probe.waitForEnd() == .complete)
        #expect(probe.value.head?.status == 401 && world.origin.log.entries.count == 3)
    }

    // MARK: Measurements

    @Test func `a request is measured, and the next one shows that it used an open connection`() throws {
        let world = try World()
        for isFirst in [true, false] {
            let probe = world.start()
            #expect(probe.waitForEnd() == .complete)
            let timings = try #require(probe.value.timings)
            #expect(timings.reusesConnection == !isFirst && (timings.connect != nil) == isFirst)
            #expect(timings.protocolName == "http/1.1" && timings.receivedBytes >= World.length)
            #expect(try timings.total >= #require(timings.firstByte) && timings.bytesPerSecond != nil)
        }
    }

    @Test func `a request without a connection is measured as well`() throws {
        let world = try World()
        let probe = TransferProbe()
        probe.start(OriginRequest(url: "http://127.0.0.1:\(try RawOrigin.unusedPort())/", fields: [:]), on: world.transport)
        guard case .failed(.unreachable) = probe.waitForEnd() else { return unexpected(probe.value.end) }
        let timings = try #require(probe.value.timings)
        #expect(timings.firstByte == nil && timings.receivedBytes == 0 && timings.reusesConnection == nil && timings.connect == nil)
    }

    // MARK: Received bytes

    @Test func `bytes after a response never answer another request`() throws {
        let world = try World { _, ordinal in
            ordinal == 0 ? .fields(["Content-Length": "4000"], .correct) : .correct
        }
        #expect(world.start(["Range": "bytes=0-9999"]).waitForEnd() == .complete)
        let second = world.start(["Range": "bytes=0-99"])
        #expect(second.waitForEnd() == .complete)
        #expect(world.origin.log.entries.count == 2)
        #expect(world.origin.connectionCount == 2)
    }

    @Test func `the receiver gets the first bytes at once and more during the transfer`() throws {
        let told = Locked<[Int64]>([])
        let world = try World()
        // A call is reported before the next one comes: the first call after it has seen one batch.
        let probe = world.start { probe, offset in
            told.withLock { $0.append(Int64(probe.value.batches)) }
            return .taken
        }
        #expect(probe.waitForEnd() == .complete)
        #expect(told.withLock { $0.first == 0 && ($0.count < 2 || $0[1] >= 1) })
        #expect(probe.value.batches >= 1 + Int(World.length - 65_536) / (256 << 10))
    }

    @Test func `other jobs of a shared loop run while a body arrives`() throws {
        let thread = try LoopThread(name: "shared")
        let origin = try RawOrigin([VirtualResource(url: "/v", seed: 4, length: World.length)]) { _, _ in .correct }
        defer { origin.stop() }
        let transport = CurlTransport(options: .patient, on: thread)
        defer { transport.close() }
        let taken = Locked<Int64?>(nil)
        let probe = TransferProbe(
            OriginContent(seed: 4),
            reaction: { probe, offset in
                if offset == 0 { thread.loop.post { taken.withLock { $0 = probe.value.bytes } } }
                return .taken
            })
        probe.start(OriginRequest(url: origin.url("/v"), fields: [:]), on: transport)
        #expect(probe.waitForEnd() == .complete)
        // The job was posted with the first bytes, so it ran after one read of the socket was
        // handed over.
        #expect(try #require(taken.withLock { $0 }) <= 256 << 10)
    }

    @Test func `a shared loop outlives its transport, and close waits for the transport's end`() throws {
        let thread = try LoopThread(name: "shared")
        let origin = try RawOrigin([VirtualResource(url: "/v", seed: 4, length: World.length)]) { _, _ in .silence }
        defer { origin.stop() }
        let transport = CurlTransport(options: .patient, on: thread)
        let probe = TransferProbe()
        probe.start(OriginRequest(url: origin.url("/v"), fields: [:]), on: transport)
        transport.close()
        #expect(probe.value.end == .cancelled)
        let isAlive = Awaited(false)
        thread.loop.post { isAlive.change { $0 = true } }
        #expect(isAlive.wait { $0 })
    }

    // MARK: Sent requests

    @Test func `a request has its own fields and three more`() throws {
        let world = try World()
        #expect(
            world.start(["Range": "bytes=0-9", "X-Empty": "", "X-Two": "a", "x-two": " b", "Expect": "100-continue"]).waitForEnd()
                == .complete)
        let fields = try #require(world.origin.log.entries.first).request.fields
        #expect(fields["Host"] == "127.0.0.1:\(world.origin.port)")
        #expect(fields["User-Agent"] == "Spool")
        #expect(fields["Accept-Encoding"] == "identity")
        #expect(fields["Range"] == "bytes=0-9")
        #expect(fields["X-Empty"] == "")
        #expect(fields.values(of: "X-Two") == ["a", "b"])
        #expect(fields["Expect"] == nil)
        #expect(fields.lines.count == 7)
    }

    @Test func `a request may replace the fields that the transport would add`() throws {
        let world = try World()
        _ = world.start(["Host": "cdn.example", "User-Agent": "P", "Accept-Encoding": "gzip", "Accept": "*/*"]).waitForEnd()
        let fields = try #require(world.origin.log.entries.first).request.fields
        #expect(fields["Host"] == "cdn.example")
        #expect(fields.values(of: "User-Agent") == ["P"])
        #expect(fields.values(of: "Accept-Encoding") == ["gzip"])
        #expect(fields.values(of: "Accept") == ["*/*"])
        #expect(fields.lines.count == 4)
    }

    @Test(arguments: ["/a/../b/./c", "/a%2Fb%2f%41?x=%20&y=a+b", "/;p=1?a?b", "//double//slash"])
    func `path and query are sent unchanged`(target: String) throws {
        let world = try World()
        let probe = TransferProbe()
        probe.start(OriginRequest(url: world.origin.url(target) + "#fragment", fields: [:]), on: world.transport)
        _ = probe.waitForEnd()
        #expect(world.origin.log.entries.map(\.request.url) == [world.origin.url(target)])
    }

    @Test(arguments: [
        ("http://127.0.0.1/", true), ("http://127.9.9.9:80/x", true), ("http://[::1]:8080/", true), ("HTTP://LocalHost/", true),
        ("http://a.localhost./", true), ("http://user:pw@localhost:1/", true), ("http://a.example/", false),
        ("http://127.0.0.1.example/", false), ("http://localhost@a.example/", false), ("http://a.example/?http://localhost/", false),
        ("http://128.0.0.1/", false),
    ])
    func `an origin on this machine is recognized and bypasses proxies`(url: String, isLoopback: Bool) throws {
        #expect(try Loopback.isHost(MediaURL(url).origin.host) == isLoopback)
    }

    // MARK: Connections

    @Test func `one connection carries one request after another`() throws {
        let world = try World()
        for _ in 0..<20 { #expect(world.start(["Range": "bytes=0-99"]).waitForEnd() == .complete) }
        #expect(world.origin.connectionCount == 1)
    }

    /// A kept connection that dies as the next request arrives on it is replaced without an error.
    /// The request is repeated, because no byte of an answer had come.
    @Test func `a dead kept connection is replaced`() throws {
        let world = try World { _, ordinal in ordinal == 1 ? .refuse : .correct }
        #expect(world.start(["Range": "bytes=0-99"]).waitForEnd() == .complete)
        let second = world.start(["Range": "bytes=0-99"])
        #expect(second.waitForEnd() == .complete)
        #expect(second.value.violations == [])
        #expect(world.origin.log.entries.count == 3)
        #expect(world.origin.connectionCount == 2)
    }

    @Test func `an unresolvable origin does not block the next request`() throws {
        let world = try World()
        for _ in 0..<3 {
            let lost = TransferProbe(world.content, reaction: { _, _ in .taken })
            lost.start(OriginRequest(url: "http://nowhere.invalid/v", fields: [:]), on: world.transport)
            let end = lost.waitForEnd()
            guard case .failed(.unreachable) = end else { return unexpected(end) }
            #expect(world.start(["Range": "bytes=0-99"]).waitForEnd() == .complete)
        }
    }

    @Test func `a fresh connection that breaks is not retried`() throws {
        let world = try World { _, _ in .refuse }
        let end = world.start().waitForEnd()
        guard case .failed(.unreachable) = end else { return unexpected(end) }
        #expect(world.origin.log.entries.count == 1)
    }

    @Test func `requests beyond the connection limit wait`() throws {
        var options = CurlTransportOptions.patient
        options.maxConnections = 2
        let world = try World(options)
        let probes = (0..<10).map { _ in world.start() }
        for probe in probes { #expect(probe.waitForEnd() == .complete) }
        #expect(world.origin.connectionCount <= 2)
    }

    // MARK: Timeouts

    @Test func `a request without an answer times out`() throws {
        var options = CurlTransportOptions.patient
        options.firstByteTimeout = .milliseconds(50)
        let world = try World(options) { _, _ in .silence }
        let end = world.start().waitForEnd()
        guard case .failed(.timeout) = end else { return unexpected(end) }
    }

    @Test func `a request that the origin may hold back waits longer`() throws {
        let time = ManualTime()
        var options = CurlTransportOptions()
        options.firstByteTimeout = .seconds(8)
        let world = try World(options, time: time) { _, _ in .silence }
        var request = OriginRequest(url: world.origin.url("/v"), fields: [:])
        request.isHeldBack = true
        let held = TransferProbe(world.content)
        held.start(request, on: world.transport)
        let other = world.start()
        while world.origin.log.entries.count < 2 { sched_yield() }
        time.advance(by: .seconds(8))
        guard case .failed(.timeout) = other.waitForEnd() else { return #expect(Bool(false)) }
        #expect(held.value.end == nil)
        time.waitForTimer()
        time.advance(by: .seconds(52))
        guard case .failed(.timeout) = held.waitForEnd() else { return #expect(Bool(false)) }
    }

    @Test func `a stalled body times out after its bytes were handed over`() throws {
        let time = ManualTime()
        let world = try World(CurlTransportOptions(), time: time) { _, _ in .stall(afterBytes: 100_000, .correct) }
        let probe = world.start()
        #expect(probe.wait { $0.bytes == 100_000 })
        time.advance(by: .seconds(8))
        let end = probe.waitForEnd()
        guard case .failed(.timeout) = end else { return unexpected(end) }
        #expect(probe.value.bytes == 100_000)
    }

    @Test func `a receiver that goes on waiting for a silent body keeps it`() throws {
        let time = ManualTime()
        let world = try World(CurlTransportOptions(), time: time) { _, _ in .stall(afterBytes: 100_000, .correct) }
        let patient = world.start(isPatient: true)
        #expect(patient.wait { $0.bytes == 100_000 })
        for _ in 0..<10 {
            time.advance(by: .seconds(8))
            // A separate transfer: the transport's thread has read the clock by then.
            let other = world.start()
            #expect(other.wait { $0.bytes == 100_000 })
            other.transfer?.cancel()
            #expect(other.waitForEnd() == .cancelled)
        }
        #expect(patient.value.end == nil)
        patient.transfer?.cancel()
        #expect(patient.waitForEnd() == .cancelled)
    }

    @Test func `a head that trickles in times out, however steadily it comes`() throws {
        let time = ManualTime()
        var options = CurlTransportOptions.patient
        options.headTimeout = .seconds(30)
        options.firstByteTimeout = .seconds(30)
        let world = try World(options, time: time)
        let listener = try Socket.listening(on: try #require(SocketAddress(literal: "127.0.0.1", port: 0)))
        let address = listener.localAddress
        let probe = TransferProbe()
        probe.start(OriginRequest(url: "http://127.0.0.1:\(try #require(address).port)/", fields: [:]), on: world.transport)
        var connection = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&connection, 1, -1) == 1)
        let client = accept(listener.descriptor, nil, nil)
        defer { close(client) }
        for line in ["HTTP/1.1 200 OK\r\n", "X: 1\r\n", "X: 2\r\n"] {
            #expect(send(client, line, line.utf8.count, Int32(MSG_NOSIGNAL)) == line.utf8.count)
            // Each transfer is a separate one: the transport's thread has read the line by then.
            for _ in 0..<2 { #expect(world.start(["Range": "bytes=0-9"]).waitForEnd() == .complete) }
            #expect(probe.value.end == nil)
            time.advance(by: .seconds(14))
        }
        #expect(probe.waitForEnd() == .failed(.timeout("the answer's head does not end")))
    }

    /// An hour of pause passes at once on the test's clock.
    @Test func `a paused transfer never stalls`() throws {
        let time = ManualTime()
        let world = try World(CurlTransportOptions(), time: time)
        let probe = world.start { probe, offset in offset >= 200_000 && probe.value.pauses == 0 ? .pause : .taken }
        #expect(probe.wait { $0.pauses == 1 })
        for _ in 0..<100 {
            time.advance(by: .seconds(36))
            // A separate transfer: the transport's thread has read the clock by then.
            #expect(world.start(["Range": "bytes=0-9"]).waitForEnd() == .complete)
        }
        #expect(probe.value.end == nil)
        probe.transfer?.resume()
        #expect(probe.waitForEnd() == .complete)
        #expect(probe.value.bytes == World.length)
    }

    @Test func `timeouts run on the injected clock`() throws {
        let time = ManualTime()
        let world = try World(CurlTransportOptions(), time: time) { request, _ in request.fields["Range"] == nil ? .silence : .correct }
        let probe = world.start()
        #expect(world.start(["Range": "bytes=0-9"]).waitForEnd() == .complete)
        time.advance(by: .seconds(59))
        #expect(world.start(["Range": "bytes=0-9"]).waitForEnd() == .complete)
        #expect(probe.value.end == nil)
        time.advance(by: .seconds(1))
        let end = probe.waitForEnd()
        guard case .failed(.timeout) = end else { return unexpected(end) }
    }

    // MARK: Receive windows

    /// Beside a player, the window of each is as small as it gets at every pause.
    @Test func `downloads that pause beside a player take all their bytes`() throws {
        let world = try World()
        world.origin.useSegments(of: 1448)
        let player = world.start { probe, offset in offset >= 200_000 && probe.value.pauses == 0 ? .pause : .taken }
        #expect(player.wait { $0.pauses == 1 })
        var request = OriginRequest(url: world.origin.url("/v"), fields: [:])
        request.priority = .prefetch
        let downloads = (0..<4).map { _ in
            let probe = TransferProbe(
                world.content, reaction: { probe, offset in offset >= Int64(probe.value.pauses + 1) * 150_000 ? .pause : .taken })
            probe.start(request, on: world.transport)
            return probe
        }
        for pause in 1...6 {
            for download in downloads { #expect(download.wait { $0.pauses == pause }) }
            for download in downloads { download.transfer?.resume() }
        }
        for download in downloads {
            #expect(download.waitForEnd() == .complete)
            #expect(download.value.bytes == World.length && download.value.violations.isEmpty)
        }
        player.transfer?.resume()
        #expect(player.waitForEnd() == .complete)
        // They get the connections of the downloads.
        for player in (0..<4).map({ _ in world.start() }) { #expect(player.waitForEnd() == .complete) }
    }

    @Test func `a paused download that a player joins goes on`() throws {
        let world = try World()
        world.origin.useSegments(of: 1448)
        let player = world.start { probe, offset in offset >= 200_000 && probe.value.pauses == 0 ? .pause : .taken }
        #expect(player.wait { $0.pauses == 1 })
        let joined = TransferProbe(
            world.content, reaction: { probe, offset in offset >= 150_000 && probe.value.pauses == 0 ? .pause : .taken })
        var request = OriginRequest(url: world.origin.url("/v"), fields: [:])
        request.priority = .upcoming
        joined.start(request, on: world.transport)
        #expect(joined.wait { $0.pauses == 1 })
        joined.transfer?.setPriority(.playing)
        joined.transfer?.resume()
        #expect(joined.waitForEnd() == .complete)
    }

    @Test(.enabled(if: ReceivingConnection.windowsCanChange))
    func `downloads leave two open connections to a player`() throws {
        let world = try World()
        world.origin.useSegments(of: 1448)
        // Three at the same time leave three connections.
        let first = (0..<3).map { _ in world.start { probe, offset in offset >= 200_000 && probe.value.pauses == 0 ? .pause : .taken } }
        for player in first { #expect(player.wait { $0.pauses == 1 }) }
        for player in first { player.transfer?.resume() }
        for player in first { #expect(player.waitForEnd() == .complete) }
        #expect(world.origin.connectionCount == 3)
        var request = OriginRequest(url: world.origin.url("/v"), fields: [:])
        request.priority = .prefetch
        let downloads = (0..<3).map { _ in
            let download = TransferProbe(
                world.content, reaction: { probe, offset in offset >= 200_000 && probe.value.pauses == 0 ? .pause : .taken })
            download.start(request, on: world.transport)
            return download
        }
        for download in downloads { #expect(download.wait { $0.pauses == 1 }) }
        #expect(world.origin.connectionCount == 5)
        for player in (0..<2).map({ _ in world.start(["Range": "bytes=0-9"]) }) {
            #expect(player.waitForEnd() == .complete)
            #expect(player.value.timings?.reusesConnection == true)
        }
        #expect(world.origin.connectionCount == 5)
        for download in downloads { download.transfer?.resume() }
        for download in downloads { #expect(download.waitForEnd() == .complete) }
    }

    // MARK: Back-pressure

    @Test func `32 paused transfers of 20 GiB stop the origin from sending`() throws {
        let world = try World()
        world.origin.serve(VirtualResource(url: "/huge", seed: 4, length: 20 << 30))
        let probes = (0..<32).map { _ in
            let probe = TransferProbe(world.content, reaction: { _, offset in offset >= 1_000_000 ? .pause : .taken })
            probe.start(OriginRequest(url: world.origin.url("/huge"), fields: [:]), on: world.transport)
            return probe
        }
        for probe in probes { #expect(probe.wait { $0.pauses == 1 || $0.end != nil }) }
        #expect(world.start().waitForEnd() == .complete)
        // The sent bytes are in socket buffers, a few MiB each, and do not grow.
        #expect(world.origin.log.handedOver(world.origin.url("/huge")).bytes < 32 * (64 << 20))
        for probe in probes { probe.transfer?.cancel() }
        for probe in probes { #expect(probe.waitForEnd() == .cancelled) }
    }

    @Test func `the bytes of a cancelled transfer that nobody took are counted`() throws {
        let world = try World()
        world.origin.serve(VirtualResource(url: "/huge", seed: 4, length: 20 << 30))
        let probe = TransferProbe(world.content, reaction: { _, offset in offset >= 32 << 20 ? .pause : .taken })
        probe.start(OriginRequest(url: world.origin.url("/huge"), fields: [:]), on: world.transport)
        #expect(probe.wait { $0.pauses == 1 || $0.end != nil })
        // Other transfers give the origin time to fill the kernel's buffer.
        for _ in 0..<5 { #expect(world.start().waitForEnd() == .complete) }
        let before = world.transport.receivedBytes ?? 0
        probe.transfer?.cancel()
        #expect(probe.waitForEnd() == .cancelled)
        let received = (world.transport.receivedBytes ?? 0) - before
        #expect(received > 32 << 20 && received < 96 << 20)
    }

    @Test func `the bytes of a complete transfer are counted with its head`() throws {
        let world = try World()
        for ordinal in 1...3 as ClosedRange<Int64> {
            #expect(world.start().waitForEnd() == .complete)
            let received = try #require(world.transport.receivedBytes)
            #expect(received > ordinal * World.length && received < ordinal * (World.length + 1000))
        }
    }

    /// libcurl 7.83 to 8.1.0 adds the folded line to the last field of the handle's response before,
    /// whose memory is free by then. The process ended.
    @Test func `a head that begins with a folded line touches nothing of a response before it`() throws {
        let folded = OriginBehaviour.raw(Array("HTTP/1.1 200 OK\r\n folded: line\r\nContent-Length: 1\r\n\r\nx".utf8))
        let world = try World { _, number in number.isMultiple(of: 2) ? .correct : folded }
        for _ in 0..<32 { #expect(world.start().waitForEnd() != nil) }
        #expect(world.start().waitForEnd() == .complete)
    }

    /// The call comes from a callback on the transport's own thread, which must not wait for
    /// itself.
    @Test func `a transport can be closed from inside a callback`() throws {
        let world = try World()
        world.origin.serve(VirtualResource(url: "/v", seed: 4, length: 20 << 30))
        let transport = world.transport
        let probe = world.start { _, _ in
            transport.close()
            return .taken
        }
        #expect(probe.waitForEnd() == .cancelled)
        #expect(probe.value.violations == [])
    }
}
#endif
