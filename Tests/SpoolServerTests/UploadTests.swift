import SpoolCore
import SpoolServer
import SpoolSystem
import Testing

/// Request bodies that a handler takes.
@Suite(.timeLimit(.minutes(20))) struct UploadTests {
    /// Takes as many bytes as a test allows, and keeps them.
    private final class Sink: BodySink, @unchecked Sendable {
        // Safe to share: everything is behind the lock.
        struct State {
            var bytes: [UInt8] = []
            var room = Int.max
            var ends: [Bool] = []
            var wake: (@Sendable () -> Void)?
        }

        let state = Locked(State())

        func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
            state.withLock { state in
                let taken = min(bytes.count, state.room)
                state.room -= taken
                state.bytes += bytes[..<taken]
                return taken
            }
        }

        func onRoom(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

        func ended(isComplete: Bool) { state.withLock { $0.ends.append(isComplete) } }

        func allow(_ bytes: Int) {
            state.withLock { state in
                state.room = bytes
                return state.wake
            }?()
        }
    }

    private final class UploadHandler: Handler, @unchecked Sendable {
        // Safe to share: constants, and a lock.
        let sink = Sink()
        let waiting = Locked<[Exchange]>([])
        let answersAtOnce: Bool

        init(answersAtOnce: Bool) { self.answersAtOnce = answersAtOnce }

        func bodySink(for request: RequestHead) -> (any BodySink)? { request.target == "/taken" ? sink : nil }

        func respond(to request: RequestHead, on exchange: Exchange) {
            guard request.target == "/taken", !answersAtOnce else { return exchange.respond(Response(200, body: .bytes([1]))) }
            waiting.withLock { $0.append(exchange) }
        }

        func answer() {
            let exchange = waiting.withLock { $0.removeFirst() }
            exchange.loop.post { exchange.respond(Response(200, body: .bytes([2]))) }
        }
    }

    /// A server with a handler that takes uploads.
    private final class World: @unchecked Sendable {
        // Safe to share: constants.
        let handler: UploadHandler
        let server: TestServer

        init(answersAtOnce: Bool = false, _ change: (inout ServerOptions) -> Void = { _ in }) throws {
            let handler = UploadHandler(answersAtOnce: answersAtOnce)
            self.handler = handler
            server = try TestServer(
                { options in
                    options.requestLimits.takenBodyBytes = 10 << 20
                    change(&options)
                }, handler: handler)
        }

        func wait(until condition: @escaping @Sendable (Sink.State) -> Bool) {
            let sink = handler.sink
            server.wait { sink.state.withLock { condition($0) } }
        }
    }

    @Test func `a request body reaches the handler as it arrives, and the connection is kept`() throws {
        let world = try World()
        let client = try world.server.connect()
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        client.send("POST /taken HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
        client.send(Array(body[..<1000]))
        world.wait { $0.bytes.count == 1000 }
        #expect(world.server.counters.requests == 1, "the handler does not wait for the body")
        client.send(Array(body[1000...]) + Array("GET /next HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        world.wait { $0.ends == [true] }
        #expect(world.handler.sink.state.withLock { $0.bytes == body })
        world.handler.answer()
        #expect(try client.answer().body == [2])
        #expect(try client.answer().body == [1])
        world.server.stop()
    }

    @Test func `a sink without room stops the client, and no byte is lost`() throws {
        let world = try World()
        world.handler.sink.allow(100_000)
        let client = try world.server.connect()
        let body = (0..<8 << 20).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8) }
        // Only the thread sends, and only the test reads.
        nonisolated(unsafe) let sending = client
        let sender = SystemThread(name: "sender") {
            sending.send("PUT /taken HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
            sending.send(body)
        }
        world.wait { $0.bytes.count == 100_000 }
        while !world.handler.sink.state.withLock({ $0.ends == [true] }) {
            let before = world.handler.sink.state.withLock { $0.bytes.count }
            world.handler.sink.allow(1 << 20)
            world.wait { $0.bytes.count >= min(before + 1 << 20, body.count) }
        }
        sender.join()
        #expect(world.handler.sink.state.withLock { $0.bytes == body })
        world.handler.answer()
        #expect(try client.answer().status == 200)
        world.server.stop()
    }

    @Test func `a client that expects 100 Continue gets it`() throws {
        let world = try World()
        let client = try world.server.connect()
        client.send("POST /taken HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        // The whole response. Another length would break the answer that follows.
        try client.discard("HTTP/1.1 100 Continue\r\n\r\n".utf8.count)
        client.send("abc")
        world.wait { $0.ends == [true] }
        world.handler.answer()
        #expect(try client.answer().status == 200)
        world.server.stop()
    }

    @Test func `an answer before the end of the request body closes the connection`() throws {
        let world = try World(answersAtOnce: true)
        let client = try world.server.connect()
        client.send("POST /taken HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc")
        let answer = try client.answer()
        #expect(answer.status == 200 && answer.fields["connection"] == "close")
        world.wait { $0.ends == [false] }
        client.finishSending()
        #expect(try client.isAtEnd())
        world.server.stop()
    }

    @Test func `a sink ends when its client leaves or stops sending`() throws {
        let world = try World()
        let leaving = try world.server.connect()
        leaving.send("POST /taken HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc")
        world.wait { $0.bytes.count == 3 }
        leaving.close()
        world.wait { $0.ends == [false] }
        let slow = try world.server.connect()
        slow.send("POST /taken HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nd")
        world.wait { $0.bytes.count == 4 }
        world.server.advance(seconds: 20)
        slow.send("e")
        world.wait { $0.bytes.count == 5 }
        world.server.advance(seconds: 20)
        #expect(world.handler.sink.state.withLock { $0.ends } == [false])
        world.server.advance(seconds: 15)
        world.wait { $0.ends == [false, false] }
        #expect(try slow.isAtEnd())
        world.server.stop()
    }

    @Test func `a long request body without a sink is refused, and a short one is skipped`() throws {
        let world = try World()
        let client = try world.server.connect()
        client.send("POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
        #expect(try client.answer().status == 200)
        client.send("POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n")
        #expect(try client.answer().status == 413)
        let other = try world.server.connect()
        other.send("POST /taken HTTP/1.1\r\nHost: a\r\nContent-Length: 10485761\r\n\r\n")
        #expect(try other.answer().status == 413)
        world.server.stop()
    }
}
