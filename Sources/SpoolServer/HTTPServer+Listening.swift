import SpoolCore
import SpoolSystem

// Listeners that the system closed are opened again. iOS closes the sockets of an app that it
// suspends.

extension HTTPServer {
    /// An acceptor, and the address that it listens on, or nil for a Unix socket.
    struct Listener {
        let address: SocketAddress?
        let acceptor: Acceptor
    }

    /// The pause before another try when the address cannot be bound.
    private static var retryPause: Nanoseconds { .milliseconds(500) }

    func accept(on socket: consuming Socket, _ address: SocketAddress?) {
        guard !isStopping else { return }
        do throws(SystemError) {
            let acceptor = try Acceptor(
                socket, loop: loop, onBroken: { [weak self] in if let address { self?.reopen(address) } },
                { [unowned self] accepted in self.accepted(accepted, byUnixSocket: address == nil) })
            listeners.append(Listener(address: address, acceptor: acceptor))
        } catch {
            preconditionFailure("a listening socket can't be polled: \(error)")
        }
    }

    /// Checks whether each listener accepts connections, and opens those again that do not.
    ///
    /// May be called from any thread. The port stays the same.
    package func checkListeners() {
        loop.post {
            for listener in self.listeners { listener.acceptor.check() }
        }
    }

    /// Closes the listener of an address, and listens there again.
    private func reopen(_ address: SocketAddress) {
        guard !isStopping else { return }
        for listener in listeners where listener.address == address { listener.acceptor.close() }
        listeners.removeAll { $0.address == address }
        do throws(SystemError) {
            accept(on: try Socket.listening(on: address), address)
        } catch {
            // The port stays reserved for a moment on some systems.
            loop.after(Self.retryPause) { [weak self] in self?.reopen(address) }
        }
    }
}
