import SpoolCore
import SpoolLibc
import SpoolServer
import SpoolSystem
import Testing

/// A server on several event loops.
@Suite(.timeLimit(.minutes(20))) struct SeveralLoopsTests {
    /// Answers with the number of its loop.
    private final class Numbered: Handler {
        private let number: Int

        init(_ number: Int) { self.number = number }

        func respond(to request: RequestHead, on exchange: Exchange) {
            exchange.respond(Response(200, body: .bytes(Array("\(number)".utf8))))
        }
    }

    /// A server with three loops.
    private final class World {
        let threads: [LoopThread]
        let server: HTTPServer
        let address: SocketAddress

        init(_ change: (inout ServerOptions) -> Void = { _ in }) throws {
            threads = try (1...3).map { try LoopThread(name: "loop \($0)") }
            var options = ServerOptions(wallNow: { Timestamp(seconds: 784_111_777) })
            change(&options)
            let others = threads.dropFirst().enumerated().map { (loop: $1.loop, handler: Numbered($0 + 1) as any Handler) }
            server = HTTPServer(loop: threads[0].loop, options: options, handler: Numbered(0), others: others)
            address = try server.listen(host: "127.0.0.1", port: 0)[0]
        }

        func stop() { threads[0].wait { [server] done in server.stop(done) } }

        func connect(_ count: Int) throws -> [Client] { try (0..<count).map { _ in try Client(address) } }

        func counters() -> [ServerCounters] {
            let found = Locked<[ServerCounters]>([])
            threads[0].wait { [server] done in
                server.countersByLoop { counters in
                    found.withLock { $0 = counters }
                    done()
                }
            }
            return found.withLock { $0 }
        }
    }

    /// Sends a request, and returns the status and the number of the loop.
    private func get(_ client: Client) throws -> (status: Int, loop: String) {
        let answer = try client.get("/")
        return (answer.status, answer.text)
    }

    @Test func `connections are shared equally, and each stays on its loop`() throws {
        let world = try World()
        let clients = try world.connect(30)
        let first = try clients.map { try get($0).loop }
        let second = try clients.map { try get($0).loop }
        #expect(first == second)
        #expect(world.counters().map(\.openConnections) == [10, 10, 10])
        #expect(world.counters().map(\.requests) == [20, 20, 20])
        world.stop()
    }

    @Test func `a loop that lost its connections gets the next ones`() throws {
        let world = try World()
        var clients = try world.connect(9)
        let loops = try clients.map { try get($0).loop }
        clients = zip(clients, loops).filter { $1 != "1" }.map(\.0)
        while world.counters()[1].openConnections > 0 { sched_yield() }
        let next = try world.connect(3)
        #expect(try next.map { try get($0).loop } == ["1", "1", "1"])
        #expect(world.counters().map(\.openConnections) == [3, 3, 3])
        clients = []
        world.stop()
    }

    @Test func `the limit of a client holds for all loops together`() throws {
        let world = try World {
            $0.clientName = { _ in [1] }
            $0.connectionsPerClient = 4
        }
        let clients = try world.connect(6)
        #expect(try clients.map { try get($0).status } == [200, 200, 200, 200, 503, 503])
        world.stop()
    }

    @Test func `an idle connection of any loop makes room for a new one`() throws {
        let world = try World { $0.maximumConnections = 3 }
        // Two of the connections send the half of a request, and so are not idle.
        let clients = try world.connect(3)
        #expect(Set(try clients.map { try get($0).loop }) == ["0", "1", "2"])
        for client in clients.dropFirst() { client.send("GET / HTTP/1.1\r\n") }
        while world.counters().reduce(0, { $0 + $1.idleConnections }) > 1 { sched_yield() }
        for _ in 0..<3 {
            let next = try Client(world.address)
            #expect(try get(next).status == 200)
        }
        world.stop()
    }

    @Test func `a server stops with answers on every loop`() throws {
        let world = try World()
        let clients = try world.connect(6)
        for client in clients { #expect(try get(client).status == 200) }
        world.stop()
        #expect(world.counters().map(\.openConnections) == [0, 0, 0])
        for client in clients { #expect(try client.isAtEnd()) }
    }
}
