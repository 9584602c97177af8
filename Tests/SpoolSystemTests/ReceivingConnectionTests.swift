#if !canImport(Darwin)
import SpoolLibc
import SpoolSystem
import Testing

/// Tests that an origin stops when nobody reads what it sends.
@Suite(.timeLimit(.minutes(20)), .enabled(if: ReceivingConnection.windowsCanChange))
struct ReceivingConnectionTests {
    /// The bytes of a segment of Ethernet. Those of loopback are so large that windows mean little.
    private static let segment: Int32 = 1448
    private static let waitingBytes = 16 << 10
    /// Within what every system lets a program ask for. The kernel doubles it.
    private static let memory: Int32 = 200 << 10
    /// The most that arrives after a hold: what waits, and the memory for the first window, which is
    /// less than 64 KiB.
    private static let most: Int64 = 160_000

    @Test func `an origin sends no more than the window that it was told`() throws {
        let connection = try Connection(segment: Self.segment, memory: Self.memory)
        connection.send(atMost: Self.waitingBytes)
        connection.waitUntilReceived(Int64(Self.waitingBytes))
        let before = try #require(ReceivingConnection.hold(connection.receiver, reserve: 2 * Int(Self.segment)))
        #expect(before == 2 * UInt32(Self.memory))
        connection.send(atMost: .max)
        #expect(connection.receivedBytes <= Self.most)
    }

    @Test func `an origin that is not held fills the memory of the kernel`() throws {
        let connection = try Connection(segment: Self.segment, memory: Self.memory)
        connection.send(atMost: .max)
        connection.waitUntilReceived(Self.most + 1)
    }

    @Test func `an origin goes on when its bytes are read after a release`() throws {
        let connection = try Connection(segment: Self.segment, memory: Self.memory)
        connection.send(atMost: Self.waitingBytes)
        connection.waitUntilReceived(Int64(Self.waitingBytes))
        let before = try #require(ReceivingConnection.hold(connection.receiver, reserve: 2 * Int(Self.segment)))
        var sent = Self.waitingBytes + connection.send(atMost: .max)
        ReceivingConnection.release(connection.receiver, memory: before)
        while sent < 8 << 20 {
            connection.readAll()
            sent += connection.send(atMost: .max)
        }
    }

    @Test func `a connection that is held is not held again`() throws {
        let connection = try Connection(segment: Self.segment, memory: Self.memory)
        connection.send(atMost: Self.waitingBytes)
        #expect(ReceivingConnection.hold(connection.receiver, reserve: 2 * Int(Self.segment)) != nil)
        #expect(ReceivingConnection.hold(connection.receiver, reserve: 2 * Int(Self.segment)) == nil)
    }

    @Test func `what is no connection cannot be held`() {
        #expect(ReceivingConnection.hold(-1, reserve: 0) == nil)
    }
}

/// A connection over loopback.
private final class Connection {
    /// The end that receives. It does not wait.
    let receiver: Int32
    private let sender: Int32
    private let zeros = [UInt8](repeating: 0, count: 64 << 10)

    /// - Parameters:
    ///   - segment: The most bytes of one segment.
    ///   - memory: The memory of the receiver in bytes.
    init(segment: Int32, memory: Int32) throws {
        var listener = try Socket.listening(on: #require(SocketAddress(literal: "127.0.0.1", port: 0)))
        defer { listener.close() }
        // The connection has these from its listener.
        var segment = segment, memory = memory
        // The kernel begins with a window of 64 KiB then.
        var window: Int32 = 32 << 10
        let size = socklen_t(MemoryLayout<Int32>.size)
        try #require(setsockopt(listener.descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, &segment, size) == 0)
        try #require(setsockopt(listener.descriptor, Int32(IPPROTO_TCP), TCP_WINDOW_CLAMP, &window, size) == 0)
        try #require(setsockopt(listener.descriptor, SOL_SOCKET, SO_RCVBUF, &memory, size) == 0)
        let address = listener.localAddress
        sender = try connected(to: #require(address))
        guard case .socket(let accepted) = listener.accept() else {
            close(sender)
            throw SystemError(code: ENOTCONN, operation: "accept")
        }
        receiver = accepted.release()
    }

    deinit {
        close(sender)
        close(receiver)
    }

    /// The bytes that arrived, read or not.
    var receivedBytes: Int64 { ReceivingConnection.receivedBytes(of: receiver) ?? -1 }

    /// Waits for sent bytes. A busy kernel hands them to the other end of loopback a moment later.
    func waitUntilReceived(_ count: Int64) {
        while receivedBytes < count { sched_yield() }
    }

    /// Sends until the kernel takes no more.
    ///
    /// - Returns: The number of bytes that it took.
    @discardableResult
    func send(atMost most: Int) -> Int {
        var sent = 0
        while sent < most {
            let count = Glibc.send(sender, zeros, min(zeros.count, most - sent), Int32(MSG_DONTWAIT))
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    func readAll() {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while read(receiver, &buffer, buffer.count) > 0 {}
    }
}
#endif
