#if os(Linux)
import SpoolLibc
import SpoolServer
import SpoolSystem
import Testing

/// A listener that the system closes, as iOS does to an app that it suspends. On Linux a shutdown of
/// the socket has the same effect: accepting fails for ever.
@Suite(.timeLimit(.minutes(20)))
struct ListenerTests {
    private static func server() throws -> TestServer {
        try TestServer { _, exchange in exchange.respond(Response(200, body: .bytes(Array("here".utf8)))) }
    }

    /// Breaks the listening socket of a port in this process.
    private static func breakListener(_ port: UInt16) {
        for descriptor in Int32(3)..<1024 {
            var isListening: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening == 1 else { continue }
            var name = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
            }
            if result == 0, UInt16(bigEndian: name.sin_port) == port { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    @Test func `a broken listener is opened again on its port when the app returns`() throws {
        let server = try Self.server()
        Self.breakListener(server.address.port)
        server.server.checkListeners()
        server.onLoop {}
        #expect(try server.connect().get("/").text == "here")
        server.stop()
    }

    @Test func `a listener that keeps failing is opened again by itself`() throws {
        let server = try Self.server()
        Self.breakListener(server.address.port)
        server.advance(seconds: 5)
        #expect(try server.connect().get("/").text == "here")
        server.stop()
    }

    @Test func `a check leaves a working listener and its connections alone`() throws {
        let server = try Self.server()
        let client = try server.connect()
        #expect(try client.get("/").text == "here")
        server.server.checkListeners()
        server.onLoop {}
        #expect(try client.get("/").text == "here")
        #expect(try server.connect().get("/").text == "here")
        server.stop()
    }
}
#endif
