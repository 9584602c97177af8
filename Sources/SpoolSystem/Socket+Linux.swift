#if !canImport(Darwin)
import CSpoolSystem
import Glibc

extension Socket {
    static func open(_ address: SocketAddress) throws(SystemError) -> Socket {
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return Socket(owning: try systemCall("socket", on: address.description) { socket(family, kind, 0) })
    }

    static func sendNoSignal(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, isContinued: Bool) -> Int {
        Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | (isContinued ? Int32(MSG_MORE) : 0))
    }

    /// Gives what a listening socket accepts the congestion control that every kernel has and everybody may choose (tcp(7), `TCP_CONGESTION`).
    ///
    /// For connections that stay within the machine: nothing is lost on their way, and one that paces, as BBR does where it is the
    /// system's default, sets a timer for every segment, which takes more CPU than all the rest of a large hit (docs/performance.md).
    func leavePacingOut() {
        let name = "reno"
        // A kernel that refuses leaves the system's default.
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, name, socklen_t(name.utf8.count))
    }

    /// The name of the socket's congestion control (tcp(7), `TCP_CONGESTION`); nil when the kernel does not tell.
    package var congestionControl: String? {
        // TCP_CA_NAME_MAX, linux/tcp.h of the kernel: 16 bytes with the zero behind the name.
        var name = [CChar](repeating: 0, count: 17)
        var length = socklen_t(16)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &length) == 0 else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Takes the next waiting connection of a listening socket.
    package func accept() -> Accepted {
        Self.accept(isBrokenConnection: Self.isBrokenConnection) { spool_accept(descriptor) }
    }

    /// accept(2) reports errors that a waiting connection already has: those of its network, too. The call is to be made again.
    private static func isBrokenConnection(_ error: Int32) -> Bool {
        switch error {
        case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH: true
        default: false
        }
    }

    /// Sends at most `count` bytes of an open file from `offset`; none when the file ends at or before `offset`.
    package func sendFile(_ file: Int32, offset: Int64, count: Int) -> Transferred {
        while true {
            let result = spool_sendfile(descriptor, file, offset, UInt64(count))
            if result >= 0 { return .count(Int(result)) }
            if -result != EINTR { return .init(Int32(-result), operation: "sendfile") }
        }
    }
}
#endif
