#if !canImport(Darwin)
import CSpoolSystem

/// A TCP connection that bytes arrive on, as the kernel counts them.
package enum ReceivingConnection {
    /// Returns the payload bytes that arrived since the connection was made, TLS included. Bytes that
    /// wait in the kernel's buffer count. Nil if the kernel does not report them.
    package static func receivedBytes(of socket: Int32) -> Int64? {
        var bytes: UInt64 = 0
        return spool_tcp_received(socket, &bytes) == 0 ? Int64(clamping: bytes) : nil
    }
}
#endif
