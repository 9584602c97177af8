#if canImport(Darwin)
import SpoolLibc

extension Socket {
    /// The kind of a socket for datagrams (socket(2)).
    static var datagramKind: Int32 { SOCK_DGRAM }

    static func open(_ address: SocketAddress) throws(SystemError) -> Socket {
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        return prepared(try systemCall("socket", on: address.description) { socket(family, SOCK_STREAM, 0) })
    }

    static func sendNoSignal(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, isContinued: Bool) -> Int {
        // `prepared` has set SO_NOSIGPIPE. There is no flag for continued bytes.
        Darwin.send(descriptor, bytes.baseAddress, bytes.count, 0)
    }

    /// Accepts the next waiting connection of a listening socket.
    package func accept() -> Accepted {
        Self.accept(isBrokenConnection: { $0 == ECONNABORTED }) {
            switch attemptSystemCall({ Darwin.accept(descriptor, nil, nil) }) {
            case .success(let accepted): Self.prepared(accepted).release()
            case .failure(let code): -code
            }
        }
    }

    /// Does nothing: the buffer of a socket is small on these systems.
    package func limitUnsent(to bytes: Int32) {}

    /// Sends at most `count` bytes of an open file from `offset`. Sends none when the file ends at
    /// or before `offset`.
    package func sendFile(_ file: Int32, offset: Int64, count: Int) -> Transferred {
        // A length of 0 would mean the whole file.
        guard count > 0 else { return .count(0) }
        var length = off_t(0)
        let outcome = attemptSystemCall { () -> Int32 in
            length = off_t(count)
            let result = Darwin.sendfile(file, descriptor, offset, &length, nil, 0)
            // An interrupted or blocked call may still have sent some bytes; `length` then has
            // their number.
            return length > 0 ? 0 : result
        }
        switch outcome {
        case .success: return .count(Int(length))
        case .failure(let code): return Transferred(code, operation: "sendfile")
        }
    }

    private static func prepared(_ descriptor: Int32) -> Socket {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        let socket = Socket(owning: descriptor)
        socket.set(SOL_SOCKET, SO_NOSIGPIPE, 1)
        return socket
    }
}
#endif
