/// An event loop with its own thread, for several users. The thread ends when the last reference is
/// released.
///
/// A transport and a server on one loop pass bytes on without waking a thread.
package final class LoopThread: Sendable {
    /// The loop that runs on the thread.
    package let loop: EventLoop
    private let thread: SystemThread

    /// Creates a loop and starts its thread. Throws when the process is out of descriptors.
    ///
    /// - Parameter name: shown by debuggers and `top`. Linux keeps the first 15 bytes.
    package init(name: String) throws(SystemError) {
        let loop = try EventLoop()
        self.loop = loop
        thread = SystemThread(name: name) {
            // Readers wait for the loop's work, whereas the work of lanes can wait.
            SystemThread.askShortTurns()
            loop.run()
        }
    }

    /// Keeps the threads of `lanes` off the core on which the loop runs, while the loop has work.
    package func keepOffItsCore(_ lanes: [DiskLane]) {
        loop.post { [loop] in loop.keepOffItsCore(lanes.map(\.thread)) }
    }

    deinit {
        loop.stop()
        // When this deinit runs on the loop's own thread, the loop ends by itself after the current
        // turn.
        if !thread.isCurrent { thread.join() }
    }

    /// Posts `work` and waits until `work` calls its `done` closure. On the loop's own thread, the
    /// method only posts and does not wait.
    package func wait(for work: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
        guard !thread.isCurrent else { return loop.post { work {} } }
        let isDone = Monitor(false)
        loop.post { work { isDone.change { $0 = true } } }
        isDone.wait { $0 ? .done(()) : .change }
    }
}
