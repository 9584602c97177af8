import SpoolLibc
import SpoolSystem

/// Handles SIGINT (Ctrl-C) and SIGTERM. The first signal asks the program to stop, and a second one
/// stops it at once.
final class Interruption: Sendable {
    private struct State {
        /// The first signal, or nil.
        var signal: Int32?
        var actions: [@Sendable () -> Void] = []
        /// The signal source, kept for as long as the program runs.
        var source: SignalSource?
        /// The source of SIGHUP, if it has an action.
        var hangups: SignalSource?
    }

    private let loop: EventLoop
    private let state = Locked(State())

    /// Takes over the signals, and returns once that is done.
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

    /// The first signal, or nil before it.
    var signal: Int32? { state.withLock { $0.signal } }

    /// Runs `action` on the signals' thread when the first signal arrives, or right away when one
    /// has arrived already.
    func onFirst(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if state.signal == nil { state.actions.append(action) }
            return state.signal != nil
        }
        if isLate { loop.post(action) }
    }

    /// Runs `body` in a task, which the first signal cancels.
    func cancelling<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task { try await body() }
        onFirst { task.cancel() }
        return try await task.value
    }

    /// Runs `action` on the signals' thread for each SIGHUP, and returns once that is set up.
    func onHangup(_ action: @escaping @Sendable () -> Void) async throws {
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<SystemError?, Never>) in
            loop.post { [self] in
                do throws(SystemError) {
                    let source = try SignalSource([SIGHUP], loop: loop, on: loop) { _ in action() }
                    state.withLock { $0.hangups = source }
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error)
                }
            }
        }
        if let failure { throw failure }
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
