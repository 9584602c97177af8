import SpoolCore
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
        /// The source of SIGHUP and its action, if it has one.
        var hangups: (source: SignalSource, action: @Sendable () -> String)?
    }

    private let loop: EventLoop
    private let state = Locked(State())

    /// Takes over the signals, and returns once that is done.
    static func install() async throws -> Interruption {
        let interruption = Interruption(loop: try EventLoop())
        interruption.loop.start(name: "spool-signals")
        try await interruption.onLoop { [interruption] loop throws(SystemError) in
            let source = try SignalSource(loop: loop, on: loop) { interruption.received($0) }
            interruption.state.withLock { $0.source = source }
        }
        return interruption
    }

    private init(loop: EventLoop) {
        self.loop = loop
    }

    /// Runs `body` on the signals' thread, and returns once that is done.
    private func onLoop(_ body: @escaping @Sendable (EventLoop) throws(SystemError) -> Void) async throws {
        let result = await withCheckedContinuation { continuation in
            loop.post { [loop] in continuation.resume(returning: Result { () throws(SystemError) in try body(loop) }) }
        }
        try result.get()
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

    /// Runs `action` on the signals' thread for each SIGHUP and each `hangUp(_:)`, and returns once
    /// that is set up.
    ///
    /// - Parameter action: Returns what it did, in a sentence.
    func onHangup(_ action: @escaping @Sendable () -> String) async throws {
        try await onLoop { [self] loop throws(SystemError) in
            let source = try SignalSource([SIGHUP], loop: loop, on: loop) { _ in _ = action() }
            state.withLock { $0.hangups = (source, action) }
        }
    }

    /// Does what SIGHUP does, and passes its sentence to `done`, or nil where SIGHUP has no action.
    func hangUp(_ done: @escaping @Sendable (String?) -> Void) {
        loop.post { [self] in done(state.withLock { $0.hangups?.action }?()) }
    }

    /// Waits for the first signal.
    func wait() async {
        await withCheckedContinuation { continuation in onFirst { continuation.resume() } }
    }

    private func received(_ signal: Int32) {
        let actions = state.withLock { state -> [@Sendable () -> Void]? in
            guard state.signal == nil else { return nil }
            state.signal = signal
            return exchange(&state.actions, with: [])
        }
        guard let actions else { _exit(ExitCode.signal(signal).rawValue) }
        for action in actions { action() }
    }
}
