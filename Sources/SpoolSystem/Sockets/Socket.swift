import SpoolLibc

/// A TCP socket: non-blocking, closed on exec, and without SIGPIPE. `deinit` closes it if `close`
/// did not.
package struct Socket: ~Copyable {
    /// The descriptor, or -1 after `close`.
    package private(set) var descriptor: Int32

    /// Takes over an open socket descriptor.
    package init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        if descriptor >= 0 { _ = closeDescriptor(descriptor) }
    }

    /// Closes the socket. Deregister it first. Further calls are ignored.
    package mutating func close() {
        guard descriptor >= 0 else { return }
        _ = closeDescriptor(descriptor)
        descriptor = -1
    }

    /// Passes the descriptor to the caller, which closes it.
    package consuming func release() -> Int32 {
        let released = descriptor
        discard self
        return released
    }

    // MARK: Listening

    /// Listens on one address. With port 0 the system chooses a port.
    ///
    /// IPv6 sockets accept no IPv4 connections, so that a program can listen on both with the same
    /// port.
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

    /// Whether this machine has ::1, the second address of `localhost`.
    package static var hasIPv6Loopback: Bool {
        guard let address = SocketAddress(literal: "::1", port: 0) else { return false }
        do throws(SystemError) {
            _ = try Socket.listening(on: address)
            return true
        } catch {
            return false
        }
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

    /// Sends as many of `bytes` as the socket accepts now.
    ///
    /// - Parameter isContinued: whether the caller sends more bytes at once. Linux then waits for
    ///   them, at most 200 ms (`MSG_MORE`, send(2), tcp(7)).
    package func send(_ bytes: UnsafeRawBufferPointer, isContinued: Bool = false) -> Transferred {
        switch attemptSystemCall({ Self.sendNoSignal(descriptor, bytes, isContinued: isContinued) }) {
        case .success(let count): return .count(count)
        case .failure(let code): return Transferred(code, operation: "send")
        }
    }

    // MARK: Options

    /// Makes the system send small writes at once (TCP_NODELAY).
    package func setNoDelay() {
        set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }

    /// Whether the system sends small writes at once.
    package var isNoDelay: Bool {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &length) == 0 && value != 0
    }

    /// Closes the sending direction. Reading continues.
    package func shutdownSending() {
        // ENOTCONN: the peer has already closed the connection, and the next event reports that.
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes the next `close` reset the connection. It is for a body that ends with the connection,
    /// so that the client can't mistake a short body for a complete one.
    package func resetOnClose() {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        // None of these options can fail on an open TCP socket. If one does, the connection is
        // slower but correct.
        var value = value
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}

/// The result of a transfer call.
package enum Transferred: Hashable, Sendable {
    /// The number of transferred bytes. It is 0 only for an empty request or at the end of a file.
    case count(Int)
    /// Nothing can be transferred now. Wait for the socket.
    case wouldBlock
    /// The peer closed the connection: there are no more bytes to read, or writing is no longer
    /// possible.
    case ended
    /// The call failed with another error.
    case failed(SystemError)

    init(_ code: Int32, operation: String) {
        switch code {
        case EAGAIN, EWOULDBLOCK: self = .wouldBlock
        case EPIPE, ECONNRESET, ENOTCONN: self = .ended
        default: self = .failed(SystemError(code: code, operation: operation))
        }
    }
}

/// The result of an accept call.
package enum Accepted: ~Copyable {
    /// The accepted connection.
    case socket(Socket)
    /// No connection is waiting.
    case wouldBlock
    /// The process or the system is out of descriptors. The connection is still waiting.
    case outOfDescriptors
    /// The listening socket can't accept connections now, and perhaps never again. Call later, and
    /// not in a loop.
    case failing
}

extension Socket {
    /// The maximum number of consecutive connections that may break before `accept` takes them. A
    /// dead listener can fail in this way for ever.
    package static let mostBrokenConnections = 64

    /// Accepts the next waiting connection.
    ///
    /// - Parameters:
    ///   - isBrokenConnection: whether an error belongs to the waiting connection. The next
    ///     connection is then accepted.
    ///   - call: accepts a connection. Returns the descriptor, or the negative of an error.
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
