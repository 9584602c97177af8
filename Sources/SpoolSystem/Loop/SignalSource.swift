import CSpoolSystem
import SpoolLibc

/// Converts signals to jobs: the signal handler writes one byte to a pipe, and an event loop reads
/// it and posts a job.
///
/// It uses a pipe because signalfd requires that every thread of the program blocks the signals,
/// even the app's own threads. There is one source per signal and process. Create and cancel it on
/// the loop.
package final class SignalSource {
    private let loop: EventLoop
    private let signals: [Int32]
    private let readEnd: Int32
    private let writeEnd: Int32
    private var registration: Registration?

    /// Takes over `signals`. Each delivered signal posts a call of `handler` to `mailbox`; the
    /// system may merge several of the same kind.
    package init(
        _ signals: [Int32] = [SIGINT, SIGTERM], loop: EventLoop, on mailbox: any Mailbox,
        _ handler: @escaping @Sendable (_ signal: Int32) -> Void
    ) throws(SystemError) {
        loop.preconditionInLoop()
        var ends: [Int32] = [-1, -1]
        _ = try systemCall("pipe") { pipe(&ends) }
        self.loop = loop
        self.signals = signals
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
        let readEnd = ends[0]
        registration = try loop.register(readEnd, .read) { _ in
            Self.drain(readEnd) { signal in mailbox.post { handler(signal) } }
        }
        for signal in signals { try redirect(signal, to: writeEnd) }
    }

    /// Restores the default action of the signals. Called once.
    package func cancel() {
        guard let registration else { return }
        for signal in signals { _ = spool_signal_redirect(signal, -1) }
        loop.deregister(registration)
        self.registration = nil
        // Both ends stay open. A handler that is running on another thread may still write. It must
        // find neither another file under the same number nor a pipe without a reader. A program
        // does this once.
    }

    private func redirect(_ signal: Int32, to descriptor: Int32) throws(SystemError) {
        let result = spool_signal_redirect(signal, descriptor)
        guard result == 0 else { throw SystemError(code: -result, operation: "sigaction", subject: "signal \(signal)") }
    }

    private static func drain(_ descriptor: Int32, _ deliver: (Int32) -> Void) {
        var bytes: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &bytes) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            for index in 0..<max(0, count) { deliver(Int32(buffer[index])) }
        }
    }
}
