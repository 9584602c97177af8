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
}
#endif
