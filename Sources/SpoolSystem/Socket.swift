#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A TCP socket: non-blocking, closed on exec, never the cause of a SIGPIPE. Closed when it goes, if not before.
package struct Socket: ~Copyable {
    /// The descriptor; -1 after `close`.
    package private(set) var descriptor: Int32

    /// Takes over an open socket descriptor.
    package init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        if descriptor >= 0 { _ = closeDescriptor(descriptor) }
    }

    /// Closes the socket; deregister it first. Harmless when repeated.
    package mutating func close() {
        guard descriptor >= 0 else { return }
        _ = closeDescriptor(descriptor)
        descriptor = -1
    }

    /// Gives the descriptor away; the caller closes it.
    package consuming func release() -> Int32 {
        let released = descriptor
        discard self
        return released
    }

    // MARK: Listening

    /// Listens on one address; port 0 lets the system choose.
    ///
    /// IPv6 sockets take no IPv4 connections, so that both can be listened on with one port.
    package static func listening(on address: SocketAddress, backlog: Int32 = 512) throws(SystemError) -> Socket {
        let socket = try Socket.open(address)
        socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
        if address.family == .ipv6 { socket.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        #if !canImport(Darwin)
        if address.isLoopback { socket.leavePacingOut() }
        #endif
        let descriptor = socket.descriptor
        _ = try systemCall("bind", on: address.description) { address.withSystemAddress { bind(descriptor, $0, $1) } }
        _ = try systemCall("listen", on: address.description) { listen(descriptor, backlog) }
        return socket
    }

    /// The address that the socket is bound to.
    package var localAddress: SocketAddress? {
        SocketAddress { getsockname(descriptor, $0, $1) }
    }

    /// The address of the other end.
    package var peerAddress: SocketAddress? {
        SocketAddress { getpeername(descriptor, $0, $1) }
    }

    // MARK: Transfer

    /// Reads at most `buffer.count` bytes.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transferred {
        switch attemptSystemCall({ recv(descriptor, buffer.baseAddress, buffer.count, 0) }) {
        case .success(let count): return count == 0 ? .ended : .count(count)
        case .failure(let code): return Transferred(code, operation: "recv")
        }
    }

    /// Sends as many of `bytes` as the socket takes now.
    ///
    /// - Parameter isContinued: the caller sends more at once. Linux waits for that, 200 ms at most (`MSG_MORE`, send(2), tcp(7)).
    package func send(_ bytes: UnsafeRawBufferPointer, isContinued: Bool = false) -> Transferred {
        switch attemptSystemCall({ Self.sendNoSignal(descriptor, bytes, isContinued: isContinued) }) {
        case .success(let count): return .count(count)
        case .failure(let code): return Transferred(code, operation: "send")
        }
    }

    // MARK: Options

    /// Sends small writes at once (TCP_NODELAY).
    package func setNoDelay() {
        set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }

    /// Whether small writes are sent at once.
    package var isNoDelay: Bool {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &length) == 0 && value != 0
    }

    /// Tells the peer that nothing more will be sent; reading goes on.
    package func shutdownSending() {
        // ENOTCONN: the peer is gone already, which the next event reports.
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes the next `close` reset the connection: for a body whose only end mark is the end of the connection,
    /// so that a short one can't be taken for complete.
    package func resetOnClose() {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        // None of the options used here can fail on an open TCP socket; where one does, the connection is slower, not wrong.
        var value = value
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}

/// What came of a transfer call.
package enum Transferred: Hashable, Sendable {
    /// So many bytes; none only where nothing was asked for, or where a file had none left.
    case count(Int)
    /// Nothing now; wait for the socket.
    case wouldBlock
    /// The peer closed: nothing more to read, or nobody to send to.
    case ended
    case failed(SystemError)

    init(_ code: Int32, operation: String) {
        switch code {
        case EAGAIN, EWOULDBLOCK: self = .wouldBlock
        case EPIPE, ECONNRESET, ENOTCONN: self = .ended
        default: self = .failed(SystemError(code: code, operation: operation))
        }
    }
}

/// What came of an accept call.
package enum Accepted: ~Copyable {
    case socket(Socket)
    /// Nobody waits.
    case wouldBlock
    /// The process or the system has no descriptors left; the connection still waits.
    case outOfDescriptors
    /// The listening socket takes no connection at the moment, or never again: call later, and not in a loop.
    case failing
}

extension Socket {
    /// The most connections in a row that may break off before `accept` took them. A dead listener can fail in this way for ever.
    package static let mostBrokenConnections = 64

    /// Takes the next waiting connection.
    ///
    /// - Parameters:
    ///   - isBrokenConnection: whether an error is one of the waiting connection, after which the next one is taken.
    ///   - call: takes a connection: the descriptor, or the negative of an error.
    package static func accept(isBrokenConnection: (Int32) -> Bool, _ call: () -> Int32) -> Accepted {
        for _ in 0..<mostBrokenConnections {
            let result = call()
            if result >= 0 { return .socket(Socket(owning: result)) }
            switch -result {
            case let error where isBrokenConnection(error): continue
            case EAGAIN, EWOULDBLOCK: return .wouldBlock
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .outOfDescriptors
            default: return .failing
            }
        }
        return .failing
    }
}

private func closeDescriptor(_ descriptor: Int32) -> Int32 {
    close(descriptor)
}
