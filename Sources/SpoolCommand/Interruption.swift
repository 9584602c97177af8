import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Ctrl-C and the like (SIGINT, SIGTERM): the first one asks the program to stop, a second one stops it at once.
final class Interruption: Sendable {
    private struct State {
        /// The signal that came first.
        var signal: Int32?
        var actions: [@Sendable () -> Void] = []
        /// Kept for as long as the program runs.
        var source: SignalSource?
    }

    private let loop: EventLoop
    private let state = Locked(State())

    /// Takes the signals over; returns when they are.
    static func install() async throws -> Interruption {
        let interruption = Interruption(loop: try EventLoop())
        interruption.loop.start(name: "spool-signals")
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<SystemError?, Never>) in
            interruption.loop.post { continuation.resume(returning: interruption.redirect()) }
        }
        if let failure { throw failure }
        return interruption
    }

    private init(loop: EventLoop) {
        self.loop = loop
    }

    private func redirect() -> SystemError? {
        do throws(SystemError) {
            let source = try SignalSource(loop: loop, on: loop) { [self] in received($0) }
            state.withLock { $0.source = source }
            return nil
        } catch {
            return error
        }
    }

    /// The signal that asked the program to stop, once one came.
    var signal: Int32? { state.withLock { $0.signal } }

    /// Runs `action` on a thread of the signals' when one comes, at once when one came already.
    func onFirst(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if state.signal == nil { state.actions.append(action) }
            return state.signal != nil
        }
        if isLate { loop.post(action) }
    }

    /// Waits for the first signal.
    func wait() async {
        await withCheckedContinuation { continuation in onFirst { continuation.resume() } }
    }

    private func received(_ signal: Int32) {
        let actions = state.withLock { state -> [@Sendable () -> Void]? in
            guard state.signal == nil else { return nil }
            state.signal = signal
            defer { state.actions = [] }
            return state.actions
        }
        guard let actions else { _exit(ExitCode.signal(signal).rawValue) }
        for action in actions { action() }
    }
}
