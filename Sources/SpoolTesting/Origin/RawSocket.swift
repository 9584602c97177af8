import SpoolLibc

/// A connected socket with blocking calls, for a thread of its own.
struct RawSocket: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        // Programs that tests start do not inherit the descriptor.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var one: Int32 = 1
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        #if canImport(Darwin)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
        // Accepted sockets inherit O_NONBLOCK on this system.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        #endif
    }

    /// Sends all of `bytes`, waiting for room.
    ///
    /// - Returns: False if the connection is gone.
    func sendAll(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes
        while rest.count > 0 {
            #if canImport(Darwin)
            let count = send(descriptor, rest.baseAddress, rest.count, 0)
            #else
            let count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            #endif
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Waits for bytes and reads up to `max` of them. Returns nil if the connection is gone.
    func receive(max: Int) -> [UInt8]? {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: max) { buffer, filled in
                count = recv(descriptor, buffer.baseAddress, max, 0)
                filled = Swift.max(0, count)
            }
            if count > 0 { return bytes }
            if count == 0 || errno != EINTR { return nil }
        }
    }

    /// Waits until there are bytes to read, the connection is gone, or the time has passed (-1 for
    /// no limit).
    ///
    /// - Returns: Whether a read would not wait.
    func waitReadable(milliseconds: Int32) -> Bool {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wait, 1, milliseconds) != 0
    }

    /// Ends the sending side of the connection.
    func endSending() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes the socket. A reset drops the bytes that the peer has not read yet.
    func close(reset: Bool) {
        if reset {
            var value = linger(l_onoff: 1, l_linger: 0)
            _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
        }
        _ = closeDescriptor(descriptor)
    }
}

private func closeDescriptor(_ descriptor: Int32) -> Int32 {
    close(descriptor)
}
