import SpoolLibc
import SpoolSystem

/// A slow line between a cache and its origin: a network interface whose packets come back after a
/// delay, at a bounded rate, with their two addresses exchanged.
///
/// A packet to `farAddress` returns as one from there to `address`. So both ends of a TCP connection
/// are on this machine, have a line between them on which packets wait and are lost, and are
/// connected by the TCP of the kernel. Checksums stay right, because they are sums in which the
/// addresses may change places (RFC 1071).
///
/// The interface needs the rights of an administrator (`CAP_NET_ADMIN`) and `/dev/net/tun`. It
/// disappears when the line is closed.
final class SlowLine: Sendable {
    /// The properties of a line.
    struct Shape: Sendable {
        /// The bytes a second towards the cache, with the heads of their packets.
        var bytesPerSecond: UInt64 = 8 << 20
        /// The time of one way, in nanoseconds.
        var wayNanoseconds: UInt64 = 20_000_000
        /// The bytes that wait before the line at most: 128 packets. Further ones are lost.
        var queueBytes: UInt64 = 128 * 1500
    }

    /// The way in which the origin finds its rate: names of the kernel (tcp(7), `TCP_CONGESTION`).
    enum Congestion: String {
        case cubic, bbr
    }

    /// The address at which an origin listens, and the one at which it is asked: addresses for
    /// benchmarks (RFC 2544, appendix C.2.2).
    static let address = "198.18.0.1", farAddress = "198.18.0.2"

    private static let interface = "spoolline"

    private struct State {
        var carriedBytes: Int64 = 0
        var isClosed = false
    }

    /// The port of the origin.
    let originPort: UInt16
    private let directory: String
    private let state = Locked(State())
    private let thread: SystemThread

    /// Opens a line. Then the origin can listen at `address` and `originPort`.
    ///
    /// - Parameter directory: A directory for the output of the program that sets up the interface.
    /// - Throws: A `BenchmarkError` with the reason for which there is no line.
    init(_ congestion: Congestion, shape: Shape = Shape(), directory: String) throws {
        let originPort = try freePort()
        self.originPort = originPort
        self.directory = directory
        let descriptor = try Self.openInterface()
        do {
            try Self.setUp(congestion, directory)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        let state = state
        thread = SystemThread(name: "slow-line") {
            var line = Line(descriptor: descriptor, origin: originPort, shape: shape)
            while !state.withLock({ $0.isClosed }) {
                let carried = line.turn()
                if carried > 0 { state.withLock { $0.carriedBytes += carried } }
            }
            Glibc.close(descriptor)
        }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        thread.join()
    }

    /// Lets new connections begin as the first one did. The kernel keeps what it has learnt about an
    /// address, such as the rate at which packets were lost.
    func forget() {
        // It fails if there is nothing to forget.
        _ = try? Self.run("tcp_metrics flush \(Self.farAddress)", directory)
    }

    /// Returns the bytes of TCP that entered the line towards the cache since the last call, without
    /// those that were lost before it.
    func takeCarriedBytes() -> Int64 {
        state.withLock { state in
            defer { state.carriedBytes = 0 }
            return state.carriedBytes
        }
    }

    private static func openInterface() throws -> Int32 {
        let descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchmarkError.system("open /dev/net/tun") }
        // `struct ifreq` of linux/if.h: 16 bytes of name, then the flags. The numbers are those of
        // linux/if_tun.h.
        let setInterface: UInt = 0x4004_54CA, tunWithoutHeader: UInt16 = 0x0001 | 0x1000
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<interface.utf8.count, with: interface.utf8)
        withUnsafeBytes(of: tunWithoutHeader) { request.replaceSubrange(16..<18, with: $0) }
        guard request.withUnsafeMutableBytes({ ioctl(descriptor, setInterface, $0.baseAddress!) }) == 0 else {
            let code = errno
            Glibc.close(descriptor)
            throw BenchmarkError.system("make the interface \(interface) (as root only)", code)
        }
        return descriptor
    }

    /// Gives the interface its address, and the connections of the origin their congestion control.
    private static func setUp(_ congestion: Congestion, _ directory: String) throws {
        try run("addr add \(address)/30 dev \(interface)", directory)
        try run("link set \(interface) txqueuelen 10000 up", directory)
        try run("route add \(farAddress)/32 dev \(interface) congctl \(congestion.rawValue)", directory)
    }

    /// Runs `ip`.
    private static func run(_ words: String, _ directory: String) throws {
        let places = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"], log = directory + "/ip.log"
        guard let program = places.first(where: { access($0, X_OK) == 0 }) else {
            throw BenchmarkError("ip is missing: scripts/setup bench installs it")
        }
        guard output(of: [program] + words.split(separator: " ").map(String.init), logPath: log) != nil else {
            throw BenchmarkError("ip \(words): \(readSmallFile(log) ?? "no output")")
        }
    }
}

/// The packets of a line. One thread owns it.
private struct Line {
    private struct Packet {
        var bytes: [UInt8]
        var arrival: UInt64
    }

    private let descriptor: Int32
    private let originPort: UInt16
    private let shape: SlowLine.Shape
    /// The packets on their way, in the order of arrival.
    private var toCache: [Packet] = [], toOrigin: [Packet] = []
    /// The time at which the line has sent everything that waits before it.
    private var free: UInt64 = 0

    /// The room for one packet. Those of the interface have 1500 bytes at most.
    private static let packetBytes = 2048
    /// The most packets read in one turn, so that deliveries do not wait for them.
    private static let turnPackets = 64
    private static let turnNanoseconds: UInt64 = 20_000_000, stepNanoseconds: UInt64 = 200_000

    init(descriptor: Int32, origin: UInt16, shape: SlowLine.Shape) {
        self.descriptor = descriptor
        originPort = origin
        self.shape = shape
    }

    /// Waits for something to do, and does it.
    ///
    /// - Returns: The bytes of TCP that entered the line.
    mutating func turn() -> Int64 {
        wait()
        var carried: Int64 = 0
        for _ in 0..<Self.turnPackets {
            guard let packet = read() else { break }
            carried += take(packet)
        }
        Self.deliver(&toCache, on: descriptor)
        Self.deliver(&toOrigin, on: descriptor)
        return carried
    }

    /// Waits for a packet, or until one on its way arrives. `poll` counts in milliseconds, so a
    /// shorter time is slept in steps.
    private func wait() {
        let now = nanoseconds(), next = [toCache.first, toOrigin.first].compactMap { $0?.arrival }.min()
        let time = min(Self.turnNanoseconds, next.map { $0 > now ? $0 - now : 0 } ?? .max)
        guard time < 1_000_000 else {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&polled, 1, Int32(time / 1_000_000))
            return
        }
        var step = timespec(tv_sec: 0, tv_nsec: Int(min(time, Self.stepNanoseconds)))
        nanosleep(&step, nil)
    }

    private func read() -> [UInt8]? {
        let packet = [UInt8](unsafeUninitializedCapacity: Self.packetBytes) { buffer, count in
            count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
        }
        return packet.isEmpty ? nil : packet
    }

    /// Puts a packet on the line, if it is one of TCP over IPv4 (RFC 791, RFC 9293) and the queue has
    /// room.
    private mutating func take(_ packet: [UInt8]) -> Int64 {
        guard packet.count >= 40, packet[0] >> 4 == 4, packet[9] == UInt8(IPPROTO_TCP) else { return 0 }
        let start = Int(packet[0] & 15) * 4
        guard start >= 20, packet.count >= start + 20 else { return 0 }
        let head = start + Int(packet[start + 12] >> 4) * 4
        var bytes = packet
        for index in 12..<16 { bytes.swapAt(index, index + 4) }
        let now = nanoseconds()
        guard UInt16(packet[start]) << 8 | UInt16(packet[start + 1]) == originPort else {
            toOrigin.append(Packet(bytes: bytes, arrival: now + shape.wayNanoseconds))
            return 0
        }
        let begins = max(free, now)
        guard (begins - now) * shape.bytesPerSecond / 1_000_000_000 <= shape.queueBytes else { return 0 }
        free = begins + UInt64(packet.count) * 1_000_000_000 / shape.bytesPerSecond
        toCache.append(Packet(bytes: bytes, arrival: free + shape.wayNanoseconds))
        return Int64(max(0, packet.count - head))
    }

    /// Delivers the packets that have arrived.
    private static func deliver(_ packets: inout [Packet], on descriptor: Int32) {
        let now = nanoseconds()
        let count = packets.prefix { $0.arrival <= now }.count
        for packet in packets[..<count] {
            // A packet that the interface does not take is lost, as any other.
            _ = packet.bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        }
        packets.removeFirst(count)
    }
}
