import SpoolLibc
import SpoolSystem

/// The address of a socket of this machine: the path of a file, or on Linux a name behind `@`
/// (unix(7)).
struct UnixAddress {
    let path: String

    /// The permissions of a listening socket's file: the user and the group may connect.
    private static let mode: mode_t = 0o660
    /// The most connections that wait.
    private static let backlog: Int32 = 512
    #if os(Linux)
    private static let stream = Int32(SOCK_STREAM.rawValue), datagram = Int32(SOCK_DGRAM.rawValue)
    #else
    private static let stream = SOCK_STREAM, datagram = SOCK_DGRAM
    #endif

    /// Opens a socket that never waits.
    private func socket(_ kind: Int32) throws(SystemError) -> Socket {
        let descriptor = try systemCall("socket", on: path) { SpoolLibc.socket(AF_UNIX, kind, 0) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return Socket(owning: descriptor)
    }

    /// Listens on a stream socket. A file that a server left behind makes room.
    func listeningSocket() throws(SystemError) -> Socket {
        let probe = try socket(Self.stream), socket = try socket(Self.stream)
        do throws(SystemError) { try call("connect") { connect(probe.descriptor, $0, $1) } } catch {
            if error.code == ECONNREFUSED { unlink(path) }
        }
        let descriptor = socket.descriptor
        try call("bind") { bind(descriptor, $0, $1) }
        // Connections are refused before `listen`.
        _ = try systemCall("chmod", on: path) { chmod(path, Self.mode) }
        _ = try systemCall("listen", on: path) { listen(descriptor, Self.backlog) }
        return socket
    }

    /// Sends a datagram.
    func send(_ text: String) throws(SystemError) {
        let socket = try socket(Self.datagram), descriptor = socket.descriptor, bytes = Array(text.utf8)
        try call("sendto") { Int32(truncatingIfNeeded: sendto(descriptor, bytes, bytes.count, 0, $0, $1)) }
    }

    /// Makes a system call with the address.
    private func call(_ operation: StaticString, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) throws(SystemError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard let first = name.first, name.count < room else {
            throw SystemError(code: name.isEmpty ? ENOENT : ENAMETOOLONG, operation: "\(operation)", subject: path)
        }
        if first == UInt8(ascii: "@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size - room + name.count)
        _ = try systemCall(operation, on: path) {
            withUnsafePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, length) } }
        }
    }
}
