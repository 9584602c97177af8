import Spool
import SpoolCore
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// Start, stop, and the objects left afterwards.
@Suite(.timeLimit(.minutes(20))) struct ProxyLifeTests {
    @Test func `a proxy can be stopped and started again`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        for _ in 0..<3 {
            let client = try world.connect()
            #expect(try client.get(film.target).status == 200)
            #expect(throws: CacheError.self) { try world.proxy.start() }
            world.proxy.stop()
            world.proxy.stop()
            #expect(try client.isAtEnd())
            #expect(throws: (any Error).self) { try world.connect() }
            try world.proxy.start()
        }
    }

    @Test func `starting on a taken port fails with an error that names it`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        var options = ProxyOptions()
        options.port = world.port
        let second = try ProxyServer(cache: world.cache, options: options)
        let error = #expect(throws: CacheError.self) { try second.start() }
        #expect(error?.message.contains("127.0.0.1:\(options.port)") == true)
        world.proxy.stop()
        try second.start()
        second.stop()
        try world.proxy.start()
    }

    @Test(.enabled(if: Socket.hasIPv6Loopback))
    func `a proxy on localhost has one port at both addresses`() throws {
        let world = try ProxyWorld(options: { $0.host = "localhost" })
        defer { world.stop() }
        #expect(world.proxy.hosts == ["localhost", "127.0.0.1"])
        for host in ["127.0.0.1", "::1"] {
            let address = try #require(SocketAddress(literal: host, port: world.port))
            let error = #expect(throws: SystemError.self) { _ = try Socket.listening(on: address) }
            #expect(error?.meansAddressInUse == true, "\(host)")
        }
    }

    /// Players ask the second address of the name first. They would send the token to the other
    /// program.
    @Test(.enabled(if: Socket.hasIPv6Loopback))
    func `a proxy is not named localhost while another program has the port at its second address`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        for _ in 0..<100 {
            let other = try Socket.listening(on: #require(SocketAddress(literal: "::1", port: 0)))
            let address = other.localAddress
            var options = ProxyOptions()
            options.host = "localhost"
            options.port = try #require(address).port
            let proxy = try ProxyServer(cache: world.cache, options: options)
            // Another program may have the port at the first address.
            do throws(CacheError) { try proxy.start() } catch { continue }
            defer { proxy.stop() }
            #expect(proxy.hosts == ["127.0.0.1"])
            #expect(proxy.baseURL?.hasPrefix("http://127.0.0.1:\(options.port)/") == true)
            withExtendedLifetime(other) {}
            return
        }
        Issue.record("no port was free at 127.0.0.1")
    }

    @Test func `each proxy of an app has a random token of its own, unless the app asks for none`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        let addresses = try (0..<2).map { _ in
            let proxy = try ProxyServer(cache: world.cache)
            try proxy.start()
            defer { proxy.stop() }
            return try #require(proxy.baseURL)
        }
        let tokens = addresses.map { $0.split(separator: "/").last ?? "" }
        #expect(tokens[0].count >= 16 && tokens[1].count >= 16 && tokens[0] != tokens[1])
        #expect(world.proxy.baseURL == "http://127.0.0.1:\(world.port)/")
    }

    @Test func `stopping ends answers under way`() throws {
        let film = VirtualResource.film(length: 1 << 20)
        let world = try ProxyWorld([film])
        world.gate.hold(afterBytes: 0)
        let waiting = try world.connect()
        waiting.ask(film.target)
        try world.wait(for: film.url) { $0.readers == 1 }
        world.proxy.stop()
        #expect(try waiting.isAtEnd())
        try world.wait(for: film.url) { $0.readers == 0 }
        world.stop()
    }

    @Test func `stopping releases the proxy, its cache and its answers`() throws {
        weak var cache: MediaCache?
        weak var proxy: ProxyServer?
        do {
            let film = VirtualResource.film()
            let world = try ProxyWorld([film], store: .files)
            (cache, proxy) = (world.cache, world.proxy)
            let client = try world.connect()
            for fields in [[:], ["Range": "bytes=0-9"], ["Range": "bytes=0-9,50-59"], ["If-None-Match": "*"], ["Range": "bytes=200000-"]]
                as [HTTPFields]
            {
                _ = try client.get(film.target, fields)
            }
            client.ask(film.target, method: "HEAD")
            _ = try client.answer(to: "HEAD")
            for target in ["/http/media.example/none", "/_spool/", "/_spool/api/resources", "/nonsense"] { _ = try client.get(target) }
            client.ask(film.target, method: "POST")
            _ = try client.answer()
            // One client leaves while its answer is made, another in the middle of it.
            world.gate.hold(afterBytes: 0)
            for target in ["/http/media.example/none", film.target] {
                let leaving = try world.connect()
                leaving.ask(target)
                leaving.hangUp()
            }
            world.stop()
        }
        #expect(cache == nil)
        #expect(proxy == nil)
    }
}
