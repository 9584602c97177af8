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

    /// Takes the next waiting connection of a listening socket.
    package func accept() -> Accepted {
        while true {
            let result = spool_accept(descriptor)
            if result >= 0 { return .socket(Socket(owning: result)) }
            switch -result {
            // The manual of accept(2): errors of the new socket's network are to be treated like EAGAIN by trying again.
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH: continue
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .outOfDescriptors
            default: return .wouldBlock
            }
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
