import SpoolCore
import SpoolLibc

/// Accepts connections of a listening socket on an event loop.
///
/// With level-triggered readiness, a full descriptor table would make the loop spin: the connection
/// stays in the queue and the listener stays readable. The acceptor therefore keeps one descriptor
/// in reserve. When no other is left, it closes the reserve to accept and drop one connection, so
/// that the client gets an immediate end. Then it pauses. It also pauses when the listening socket
/// fails, and reports a socket that keeps failing: iOS closes the listeners of an app that it
/// suspends.
package final class Acceptor {
    /// The maximum number of connections accepted in one event. Further ones follow in the next
    /// turn, so that a burst does not delay the connections that are being served.
    private static let batch = 64
    /// The pause when no descriptors are left, or the listening socket fails.
    private static let pause: Nanoseconds = .milliseconds(100)

    private let loop: EventLoop
    private var socket: Socket
    private var registration: Registration?
    private var spare: Int32
    private var pauseTimer: LoopTimer?
    /// The number of failures in a row after which the socket is reported as broken.
    private static let mostFailures = 3
    private var failures = 0
    private let onAccept: (consuming Socket) -> Void
    private let onBroken: () -> Void
    /// The number of times that the process ran out of descriptors.
    package private(set) var exhaustions = 0

    /// Begins to accept connections. Called on the loop.
    ///
    /// - Parameters:
    ///   - onBroken: Called each time that the socket has failed several times in a row. The owner
    ///     may close this acceptor.
    package init(
        _ socket: consuming Socket, loop: EventLoop, onBroken: @escaping () -> Void = {},
        _ onAccept: @escaping (consuming Socket) -> Void
    ) throws(SystemError) {
        loop.preconditionInLoop()
        self.loop = loop
        self.socket = socket
        self.onAccept = onAccept
        self.onBroken = onBroken
        spare = Self.openSpare()
        registration = try loop.register(self.socket.descriptor, .read) { [unowned self] _ in self.acceptBatch() }
    }

    deinit {
        precondition(registration == nil, "an acceptor is closed before it goes")
    }

    /// Stops accepting and closes the listening socket. Further calls are ignored.
    package func close() {
        guard let registration else { return }
        if let pauseTimer { loop.cancel(pauseTimer) }
        loop.deregister(registration)
        self.registration = nil
        socket.close()
        closeSpare()
    }

    /// Accepts what waits, and reports the socket as broken at its first failure. A system may not
    /// report that it closed a listener.
    package func check() {
        failures = Self.mostFailures - 1
        acceptBatch()
    }

    private func acceptBatch() {
        for _ in 0..<Self.batch {
            guard registration != nil else { return }
            switch socket.accept() {
            case .socket(let accepted):
                failures = 0
                onAccept(accepted)
            case .wouldBlock:
                failures = 0
                return
            case .outOfDescriptors: return dropOneAndPause()
            case .failing: return failed()
            }
        }
    }

    private func failed() {
        stopForAWhile()
        failures += 1
        guard failures >= Self.mostFailures else { return }
        failures = 0
        onBroken()
    }

    private func dropOneAndPause() {
        exhaustions += 1
        closeSpare()
        if case .socket(var dropped) = socket.accept() { dropped.close() }
        spare = Self.openSpare()
        stopForAWhile()
    }

    private func stopForAWhile() {
        setListening(false)
        if let pauseTimer { loop.cancel(pauseTimer) }
        pauseTimer = loop.after(Self.pause) { [weak self] in
            self?.pauseTimer = nil
            self?.setListening(true)
        }
    }

    private func setListening(_ isListening: Bool) {
        guard let registration else { return }
        do throws(SystemError) {
            try loop.update(registration, isListening ? .read : [])
        } catch {
            preconditionFailure("a listening socket can't be polled: \(error)")
        }
    }

    private func closeSpare() {
        if spare >= 0 { _ = systemClose(spare) }
        spare = -1
    }

    private static func openSpare() -> Int32 {
        open("/dev/null", O_RDONLY | O_CLOEXEC)
    }
}

private func systemClose(_ descriptor: Int32) -> Int32 {
    close(descriptor)
}
