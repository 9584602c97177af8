/// An event loop on a thread of its own, for those who share it: the thread ends when the last of them has let go.
///
/// A transport and a server on one loop hand bytes over without waking a thread.
package final class LoopThread: Sendable {
    package let loop: EventLoop
    private let thread: SystemThread

    /// Opens a loop and starts its thread. Fails when the process has no descriptors left.
    ///
    /// - Parameter name: shown by debuggers and `top`; Linux keeps the first 15 bytes.
    package init(name: String) throws(SystemError) {
        let loop = try EventLoop()
        self.loop = loop
        thread = SystemThread(name: name) {
            // Whoever waits for the loop waits for bytes; lanes work for later.
            SystemThread.askShortTurns()
            loop.run()
        }
    }

    /// Keeps the threads of `lanes` off the core on which the loop runs, while it has something to do.
    package func keepOffItsCore(_ lanes: [DiskLane]) {
        loop.post { [loop] in loop.keepOffItsCore(lanes.map(\.thread)) }
    }

    deinit {
        loop.stop()
        // On the thread itself the loop ends by itself, after the present turn.
        if !thread.isCurrent { thread.join() }
    }

    /// Posts `work` and waits until what it was handed was called. On the loop's own thread it posts only, and does not wait.
    package func wait(for work: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
        guard !thread.isCurrent else { return loop.post { work {} } }
        let isDone = Monitor(false)
        loop.post { work { isDone.change { $0 = true } } }
        isDone.wait { $0 ? .done(()) : .change }
    }
}
