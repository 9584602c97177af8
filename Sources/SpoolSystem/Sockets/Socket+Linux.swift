#if !canImport(Darwin)
import CSpoolSystem
import SpoolLibc

extension Socket {
    /// The kind of a socket for datagrams (socket(2)).
    static var datagramKind: Int32 { Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) }

    static func open(_ address: SocketAddress) throws(SystemError) -> Socket {
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return Socket(owning: try systemCall("socket", on: address.description) { socket(family, kind, 0) })
    }

    static func sendNoSignal(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, isContinued: Bool) -> Int {
        Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | (isContinued ? Int32(MSG_MORE) : 0))
    }

    /// Sets the congestion control of the listening socket's connections to one that every kernel
    /// has and every user may choose (tcp(7), `TCP_CONGESTION`).
    ///
    /// It is for connections inside the machine, which lose nothing. A paced congestion control,
    /// such as BBR where it is the system's default, sets a timer for every segment. That takes
    /// more CPU than all other work of a large hit (docs/performance.md).
    func leavePacingOut() {
        let name = "reno"
        // If the kernel refuses, the system's default stays.
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, name, socklen_t(name.utf8.count))
    }

    /// Bounds the bytes that the system takes and has not sent yet (tcp(7), `TCP_NOTSENT_LOWAT`).
    /// Beyond the bound a send takes nothing, and the socket is writable at half of it. 0 removes
    /// the bound.
    package func limitUnsent(to bytes: Int32) {
        set(Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, bytes)
    }

    /// The name of the socket's congestion control (tcp(7), `TCP_CONGESTION`), or nil when the
    /// kernel does not report it.
    package var congestionControl: String? {
        // TCP_CA_NAME_MAX, linux/tcp.h of the kernel: 16 bytes including the final zero.
        var name = [CChar](repeating: 0, count: 17)
        var length = socklen_t(16)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &length) == 0 else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Accepts the next waiting connection of a listening socket.
    package func accept() -> Accepted {
        Self.accept(isBrokenConnection: Self.isBrokenConnection) { spool_accept(descriptor) }
    }

    /// Whether an error belongs to a waiting connection. accept(2) also reports errors that the
    /// connection already has, including those of its network. The caller then tries again.
    private static func isBrokenConnection(_ error: Int32) -> Bool {
        switch error {
        case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH: true
        default: false
        }
    }

    /// Sends at most `count` bytes of an open file from `offset`. Sends none when the file ends at
    /// or before `offset`.
    package func sendFile(_ file: Int32, offset: Int64, count: Int) -> Transferred {
        while true {
            let result = spool_sendfile(descriptor, file, offset, UInt64(count))
            if result >= 0 { return .count(Int(result)) }
            if -result != EINTR { return .init(Int32(-result), operation: "sendfile") }
        }
    }
}
#endif
