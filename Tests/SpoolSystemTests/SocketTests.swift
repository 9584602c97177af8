import SpoolCore
import SpoolLibc
import SpoolSystem
import Testing

struct SocketAddressTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:80"), ("0.0.0.0", "0.0.0.0:80"), ("::1", "[::1]:80"), ("[::1]", "[::1]:80"),
        ("2001:db8::5", "[2001:db8::5]:80"),
    ])
    func `address literals survive a round trip`(host: String, text: String) {
        #expect(SocketAddress(literal: host, port: 80)?.description == text)
    }

    @Test(arguments: ["", "example.org", "127.0.0", "[127.0.0.1]", "1.2.3.4.5", "::g", "localhost"])
    func `a name is not an address literal`(host: String) {
        #expect(SocketAddress(literal: host, port: 80) == nil)
    }

    @Test func `localhost resolves to both loopback addresses, and other names to none`() {
        #expect(SocketAddress.resolve("LocalHost", port: 5).map(\.description) == ["127.0.0.1:5", "[::1]:5"])
        #expect(SocketAddress.resolve("example.org", port: 5) == [])
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("::ffff:127.0.0.1", true), ("0.0.0.0", false), ("::", false),
        ("::2", false), ("192.168.0.1", false), ("::ffff:10.0.0.1", false),
    ])
    func `loopback addresses are distinguished from others`(host: String, isLoopback: Bool) {
        #expect(SocketAddress(literal: host, port: 0)?.isLoopback == isLoopback)
    }
}

@Suite(.timeLimit(.minutes(20)))
struct SocketTests {
    @Test(arguments: ["127.0.0.1", "::1"])
    func `bytes and files are sent over a connection`(host: String) throws {
        let address = try #require(SocketAddress(literal: host, port: 0))
        var listener: Socket
        do throws(SystemError) {
            listener = try Socket.listening(on: address)
        } catch {
            // This machine has no IPv6.
            #expect(host == "::1")
            return
        }
        let boundAddress = listener.localAddress
        let bound = try #require(boundAddress)
        #expect(bound.port > 0)
        guard case .wouldBlock = listener.accept() else {
            Issue.record("nobody has connected")
            return
        }
        let client = try connected(to: bound)
        guard case .socket(var server) = listener.accept() else {
            Issue.record("a client waits")
            return
        }
        let peer = server.peerAddress
        #expect(peer?.isLoopback == true)

        var buffer = [UInt8](repeating: 0, count: 64)
        let early = buffer.withUnsafeMutableBytes { server.receive(into: $0) }
        #expect(early == .wouldBlock)
        let sent = [UInt8]("hello".utf8).withUnsafeBytes { server.send($0) }
        #expect(sent == .count(5))
        #expect(read(client, &buffer, 64) == 5)

        let (file, path) = try temporaryFile("0123456789")
        defer { unlink(path) }
        let inside = server.sendFile(file, offset: 2, count: 3)
        #expect(inside == .count(3))
        #expect(read(client, &buffer, 64) == 3)
        #expect(Array(buffer[0..<3]) == Array("234".utf8))
        let atEnd = server.sendFile(file, offset: 8, count: 100), beyond = server.sendFile(file, offset: 10, count: 1)
        #expect(atEnd == .count(2))
        #expect(beyond == .count(0))
        close(file)

        server.shutdownSending()
        #expect(read(client, &buffer, 64) == 2)
        #expect(read(client, &buffer, 64) == 0)
        close(client)
        var last = buffer.withUnsafeMutableBytes { server.receive(into: $0) }
        // The end may come in a turn of its own of the kernel.
        while last == .wouldBlock {
            sched_yield()
            last = buffer.withUnsafeMutableBytes { server.receive(into: $0) }
        }
        #expect(last == .ended)
        server.close()
        server.close()
        listener.close()
    }

    #if !canImport(Darwin)
    @Test func `connections within the machine are not paced, and others keep the system's choice`() throws {
        func accepted(_ host: String) throws -> String? {
            let listener = try Socket.listening(on: #require(SocketAddress(literal: host, port: 0)))
            let bound = listener.localAddress
            let port = try #require(bound).port
            let client = try connected(to: #require(SocketAddress(literal: "127.0.0.1", port: port)))
            defer { close(client) }
            guard case .socket(let server) = listener.accept() else { return nil }
            return server.congestionControl
        }
        let standard = Socket(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)).congestionControl
        #expect(try accepted("127.0.0.1") == "reno")
        #expect(try accepted("0.0.0.0") == standard)
    }
    #endif

    @Test func `a second listener on the same port fails with the address in the error`() throws {
        let any = try #require(SocketAddress(literal: "127.0.0.1", port: 0))
        let first = try Socket.listening(on: any)
        let bound = first.localAddress
        let address = try #require(bound)
        do throws(SystemError) {
            _ = try Socket.listening(on: address)
            Issue.record("the port is taken")
        } catch {
            #expect(error.code == EADDRINUSE)
            #expect(error.subject == address.description)
        }
        _ = consume first
    }

    @Test func `a listener whose connections all break reports a failure`() {
        var calls = 0
        let outcome = Socket.accept(isBrokenConnection: { $0 == ECONNABORTED }) {
            calls += 1
            // Without a bound the call would never return.
            return calls > 10_000 ? -EAGAIN : -ECONNABORTED
        }
        guard case .failing = outcome else {
            Issue.record("a failing listener looks like a waiting one")
            return
        }
        #expect(calls == Socket.mostBrokenConnections)
    }

    @Test func `a broken connection does not prevent accepting the next one`() throws {
        let address = try #require(SocketAddress(literal: "127.0.0.1", port: 0))
        var listener = try Socket.listening(on: address)
        let boundAddress = listener.localAddress
        let bound = try #require(boundAddress)
        let client = try connected(to: bound)
        var hasFailed = false
        let descriptor = listener.descriptor
        let outcome = Socket.accept(isBrokenConnection: { $0 == ECONNABORTED }) {
            defer { hasFailed = true }
            return hasFailed ? accept(descriptor, nil, nil) : -ECONNABORTED
        }
        guard case .socket(var server) = outcome else {
            Issue.record("a client waits")
            return
        }
        server.close()
        listener.close()
        close(client)
    }

    @Test func `a socket that does not listen fails on accept`() throws {
        let address = try #require(SocketAddress(literal: "127.0.0.1", port: 0))
        var listener = try Socket.listening(on: address)
        shutdown(listener.descriptor, Int32(SHUT_RDWR))
        guard case .failing = listener.accept() else {
            Issue.record("the listener was shut down")
            return
        }
        listener.close()
    }

    @Test func `an acceptor without descriptors drops a client instead of spinning, and recovers`() async {
        // The test runs in its own process, because it uses up the descriptor table.
        await #expect(processExitsWith: .success) {
            let clock = Locked<Int64>(0)
            let loop = try EventLoop(clock: { MonotonicInstant(nanoseconds: clock.withLock { $0 }) })
            let listener = try Socket.listening(on: SocketAddress(literal: "127.0.0.1", port: 0)!)
            let address = listener.localAddress!
            let client = try connected(to: address)
            let listenerBox = Box<Socket.Shared>()
            listenerBox.value = Socket.Shared(listener)
            let accepted = Locked(0)
            loop.post {
                let box = Box<Acceptor>()
                box.value = try! Acceptor(listenerBox.value!.take(), loop: loop) { _ in accepted.withLock { $0 += 1 } }
                var taken: [Int32] = []
                while true {
                    let next = dup(0)
                    if next < 0 { break }
                    taken.append(next)
                }
                let filler = taken
                loop.post {
                    loop.post {
                        precondition(box.value!.exhaustions == 1, "the table was full once")
                        for descriptor in filler { close(descriptor) }
                        // Accepting continues after the pause.
                        _ = try! connected(to: address)
                        clock.withLock { $0 = 1_000_000_000 }
                        let check = Box<() -> Void>()
                        check.value = {
                            if accepted.withLock({ $0 }) == 0 { return loop.post { check.value!() } }
                            box.value!.close()
                            loop.stop()
                        }
                        check.value!()
                    }
                }
            }
            loop.run()
            var byte: UInt8 = 0
            precondition(read(client, &byte, 1) <= 0, "the first client was dropped")
        }
    }

    @Test func `a signal runs a job on the loop`() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            let source = Box<SignalSource>()
            let seen = Locked<[Int32]>([])
            loop.post {
                source.value = try! SignalSource([SIGTERM, SIGINT], loop: loop, on: loop) { signal in
                    seen.withLock { $0.append(signal) }
                    if seen.withLock({ $0.count }) == 2 {
                        source.value!.cancel()
                        loop.stop()
                    }
                }
                kill(getpid(), SIGTERM)
                kill(getpid(), SIGINT)
            }
            loop.run()
            precondition(Set(seen.withLock { $0 }) == [SIGTERM, SIGINT])
        }
    }
}

extension Socket {
    /// Carries a socket into a closure.
    final class Shared: @unchecked Sendable {
        // One thread takes the socket, once.
        private var socket: Socket?

        init(_ socket: consuming Socket) {
            self.socket = consume socket
        }

        func take() -> Socket {
            socket.take()!
        }
    }
}

/// Returns a blocking client socket.
func connected(to address: SocketAddress) throws -> Int32 {
    let descriptor = socket(address.family == .ipv4 ? AF_INET : AF_INET6, streamType, 0)
    let result: Int32
    if address.family == .ipv4 {
        var system = sockaddr_in()
        system.sin_family = sa_family_t(AF_INET)
        system.sin_port = address.port.bigEndian
        withUnsafeMutableBytes(of: &system.sin_addr) { $0.copyBytes(from: address.bytes) }
        result = withUnsafePointer(to: &system) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    } else {
        var system = sockaddr_in6()
        system.sin6_family = sa_family_t(AF_INET6)
        system.sin6_port = address.port.bigEndian
        withUnsafeMutableBytes(of: &system.sin6_addr) { $0.copyBytes(from: address.bytes) }
        result = withUnsafePointer(to: &system) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) }
        }
    }
    guard result == 0 else { throw SystemError(code: errno, operation: "connect", subject: address.description) }
    return descriptor
}

func temporaryFile(_ text: String) throws -> (descriptor: Int32, path: String) {
    var path = Array("/tmp/spool-test-XXXXXX".utf8CString)
    let descriptor = mkstemp(&path)
    guard descriptor >= 0 else { throw SystemError(code: errno, operation: "mkstemp") }
    let bytes = Array(text.utf8)
    precondition(write(descriptor, bytes, bytes.count) == bytes.count)
    return (descriptor, String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
}
