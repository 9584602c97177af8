#if os(Linux)
import SpoolCore
import SpoolLibc
import SpoolSystem

/// The service manager that started this process: systemd, or a program with the same protocols
/// (`sd_notify(3)`, `sd_listen_fds(3)`, `sd_watchdog_enabled(3)`).
///
/// All of it comes from the environment. Without these variables, nothing has an effect.
struct ServiceManager: Sendable {
    /// The path of the socket for messages. A first `@` stands for a zero byte, which is the form
    /// of a socket without a file.
    private let socketPath: String?
    /// The time within which the manager expects a sign of life, or nil if it expects none.
    let watchdogTimeout: Nanoseconds?
    /// The number of listening sockets that the process inherited. The first one is descriptor 3.
    let listenerCount: Int32

    /// The largest number of inherited sockets that are looked at.
    private static let maxListeners: Int32 = 16
    private static let firstListener: Int32 = 3

    /// Reads the variables.
    ///
    /// - Parameters:
    ///   - process: The id of this process. Variables for another process do not count.
    ///   - variable: Returns the value of a variable.
    init(process: Int32 = getpid(), variable: (String) -> String? = { Environment[$0] }) {
        let path = variable("NOTIFY_SOCKET") ?? ""
        socketPath = path.hasPrefix("/") || path.hasPrefix("@") ? path : nil
        let isWatched = variable("WATCHDOG_PID").map { Int32($0) == process } ?? true
        let microseconds = isWatched ? variable("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0 : 0
        watchdogTimeout = microseconds > 0 && microseconds < Int64.max / 1000 ? microseconds * 1000 : nil
        let isMine = variable("LISTEN_PID").flatMap { Int32($0) } == process
        let count = isMine ? variable("LISTEN_FDS").flatMap { Int32($0) } ?? 0 : 0
        listenerCount = min(max(0, count), Self.maxListeners)
    }

    // MARK: Messages

    /// The state that a message reports.
    enum Message: Sendable {
        case ready(String)
        case reloading(now: MonotonicInstant)
        case stopping
        case alive

        var text: String {
            switch self {
            case .ready(let status): "READY=1\nSTATUS=\(status)"
            case .reloading(let now): "RELOADING=1\nMONOTONIC_USEC=\(now.nanoseconds / 1000)"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            }
        }
    }

    /// Sends a message. Ignored without a manager, and never waits.
    func notify(_ message: Message) throws(SystemError) {
        guard let socketPath else { return }
        try UnixAddress(path: socketPath).send(message.text)
    }

    // MARK: Listeners

    /// The address of the first inherited socket, if there is one.
    var listenerAddress: SocketAddress? { listenerCount > 0 ? SocketAddress.bound(to: Self.firstListener) : nil }

    /// Takes over the first inherited socket, and closes the others.
    ///
    /// - Returns: The descriptor and its address, or nil when none was inherited.
    /// - Throws: `Failure` when the socket is not a listening TCP socket.
    func takeListener() throws(Failure) -> InheritedListener? {
        guard listenerCount > 0 else { return nil }
        for number in Self.firstListener..<Self.firstListener + listenerCount { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        for number in Self.firstListener + 1..<Self.firstListener + listenerCount { close(number) }
        let number = Self.firstListener
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let result = getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size)
        guard result == 0, isListening != 0, let address = SocketAddress.bound(to: number) else {
            throw Failure("the socket of the service manager is not a listening TCP socket; the .socket unit needs ListenStream=HOST:PORT")
        }
        _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
        return InheritedListener(descriptor: number, address: address)
    }
}

/// A listening socket that the service manager opened.
struct InheritedListener: Sendable {
    let descriptor: Int32
    let address: SocketAddress
}

extension SocketAddress {
    /// The address that a socket of another owner is bound to, or nil for another kind of file.
    fileprivate static func bound(to descriptor: Int32) -> SocketAddress? {
        let copy = dup(descriptor)
        guard copy >= 0 else { return nil }
        return Socket(owning: copy).localAddress
    }
}
#endif
