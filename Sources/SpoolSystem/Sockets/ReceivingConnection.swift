#if !canImport(Darwin)
import CSpoolSystem
import SpoolLibc

/// A TCP connection that bytes arrive on, and what the kernel knows of it.
package enum ReceivingConnection {
    /// Returns the payload bytes that arrived since the connection was made, TLS included. Bytes that
    /// wait in the kernel's buffer count. Nil if the kernel does not report them.
    package static func receivedBytes(of socket: Int32) -> Int64? {
        var bytes: UInt64 = 0
        return spool_tcp_received(socket, &bytes) == 0 ? Int64(clamping: bytes) : nil
    }

    /// Returns the bytes that wait in the kernel's buffer, TLS included (`FIONREAD`, ioctl_tty(2)); 0 for
    /// a closed connection.
    package static func waitingBytes(of socket: Int32) -> Int64 {
        var bytes: Int32 = 0
        return ioctl(socket, UInt(FIONREAD), &bytes) == 0 ? Int64(bytes) : 0
    }

    /// Whether the window of an open connection can be made smaller and larger: since Linux 6.7. An
    /// earlier kernel takes a new bound only after a while.
    package static let windowsCanChange: Bool = {
        var names = utsname()
        guard uname(&names) == 0 else { return false }
        let release = withUnsafeBytes(of: names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        return numbers.count == 2 && (numbers[0], numbers[1]) >= (6, 7)
    }()

    /// Returns the most payload bytes of one segment, or nil if the connection is closed.
    package static func segmentBytes(of socket: Int32) -> Int? {
        var bytes: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(socket, Int32(IPPROTO_TCP), TCP_MAXSEG, &bytes, &size) == 0 ? Int(bytes) : nil
    }

    /// Sets the number of probes without an answer after which the kernel closes a silent connection
    /// (`TCP_KEEPCNT`, tcp(7)).
    package static func boundProbes(of socket: Int32, to count: Int32) {
        var value = count
        // Without it a dead connection is found later.
        _ = setsockopt(socket, Int32(IPPROTO_TCP), TCP_KEEPCNT, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Bounds the receive window of a connection in bytes (`TCP_WINDOW_CLAMP`, tcp(7)). Nil leaves it
    /// to the kernel.
    ///
    /// A window that was advertised is not taken back. The kernel may widen the window again when
    /// bytes are read, so a bound has to be set again then.
    package static func boundWindow(of socket: Int32, to bytes: Int?) {
        var value = Int32(clamping: bytes ?? .max)
        // Only a hint: a closed connection, or one that is no TCP, has no window.
        _ = setsockopt(socket, Int32(IPPROTO_TCP), TCP_WINDOW_CLAMP, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Lets the origin of a connection send no more than the window that it was told, until `release`.
    ///
    /// A bounded window alone does not stop an origin. As long as the kernel has memory for received
    /// bytes, it opens the window again for each one, although nobody reads them.
    ///
    /// - Parameters:
    ///   - reserve: The bytes of the window that a connection without waiting bytes has.
    ///   - later: The largest window that the connection needs after the release, or nil for as much
    ///     memory as it has now.
    /// - Returns: The memory of the connection before, in bytes, for `release`. Nil if it has no more
    ///   than that anyway, or if a program may not ask for as much memory as it needs later
    ///   (net.core.rmem_max, socket(7)).
    package static func hold(_ socket: Int32, reserve: Int, later: Int? = nil) -> UInt32? {
        // A packet takes up to four times the memory of its bytes.
        let least = later.map { UInt32(clamping: min($0, Int(Int32.max)) * 4) } ?? .max
        var before: UInt32 = 0
        return spool_tcp_hold(socket, UInt32(clamping: reserve), least, mostMemory, &before) == 0 ? before : nil
    }

    /// Ends what `hold` began. Call it before waiting bytes are read: reading them tells the origin
    /// that it can go on.
    package static func release(_ socket: Int32, memory: UInt32) {
        // Only a hint, as with `boundWindow`.
        _ = spool_tcp_release(socket, memory)
    }

    /// The largest value of `SO_RCVBUF`. A container may not see the file that has it.
    private static let mostMemory: UInt32 = {
        let probe = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        guard probe >= 0 else { return 0 }
        defer { close(probe) }
        var memory = Int32.max, size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(probe, SOL_SOCKET, SO_RCVBUF, &memory, size) == 0,
            getsockopt(probe, SOL_SOCKET, SO_RCVBUF, &memory, &size) == 0
        else { return 0 }
        // The kernel doubles what it is given.
        return UInt32(clamping: memory / 2)
    }()
}
#endif
