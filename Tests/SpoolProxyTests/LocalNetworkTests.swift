import Spool
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// URLs for an AirPlay receiver, which fetches from another device.
@Suite(.timeLimit(.minutes(20))) struct LocalNetworkTests {
    @Test func `a proxy on loopback has no URL for other devices`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        #expect(world.proxy.localNetworkURL(for: film.url) == nil)
        #expect(world.proxy.url(for: film.url) != nil)
    }

    @Test func `an address of this machine and the right token give a URL that serves the resource`() throws {
        let addresses = try InterfaceAddress.all().filter { $0.address.family == .ipv4 && $0.isUp && !$0.address.isLoopback }
        // A machine without a network has no such address to listen on.
        guard let own = addresses.first?.address.host else { return }
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], options: { ($0.host, $0.token) = (own, "secret-1") })
        defer { world.stop() }
        let url = try #require(world.proxy.localNetworkURL(for: film.url))
        #expect(url == "http://\(own):\(world.port)/secret-1" + film.target)
        let client = try ProxyClient(host: own, port: world.port)
        let answer = try client.get("/secret-1" + film.target)
        #expect(answer.status == 200 && answer.body == film.allBytes)
        #expect(try client.get("/secret-2" + film.target).status != 200)
        world.proxy.stop()
        #expect(world.proxy.localNetworkURL(for: film.url) == nil)
    }

    @Test func `a proxy on every address has a loopback URL here and a local network URL for others`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], options: { ($0.host, $0.token) = ("0.0.0.0", "secret-1") })
        defer { world.stop() }
        #expect(world.proxy.url(for: film.url) == "http://127.0.0.1:\(world.port)/secret-1" + film.target)
        let expected = InterfaceAddress.localNetwork(among: try InterfaceAddress.all()).map {
            "http://\($0.host):\(world.port)/secret-1" + film.target
        }
        #expect(world.proxy.localNetworkURL(for: film.url) == expected)
        #expect(throws: CacheError.self) {
            var options = ProxyOptions()
            options.host = "0.0.0.0"
            options.token = nil
            _ = try ProxyServer(cache: world.cache, options: options)
        }
    }
}
