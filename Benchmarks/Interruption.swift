import SpoolLibc
import SpoolSystem

/// Deletes the files of the run on Ctrl-C or another request to end, before the harness ends. Its
/// programs end with it.
final class Interruption {
    private let thread: LoopThread

    /// The number of attempts to delete the directory, because programs that are ending may still
    /// make files.
    private static let attempts = 100
    /// The pause between two attempts, in milliseconds.
    private static let pauseMilliseconds: Int32 = 20

    /// Handles the signals for the rest of the process.
    init(deleting directory: String) throws {
        thread = try LoopThread(name: "signals")
        let loop = thread.loop
        let failure = Locked<SystemError?>(nil)
        thread.wait { done in
            do throws(SystemError) {
                _ = try SignalSource(loop: loop, on: loop) { signal in
                    for _ in 0..<Self.attempts {
                        removeTree(directory)
                        guard access(directory, F_OK) == 0 else { break }
                        poll(nil, 0, Self.pauseMilliseconds)
                    }
                    // The exit code that a shell reports for a program that a signal ended.
                    _exit(128 + signal)
                }
            } catch { failure.withLock { $0 = error } }
            done()
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}
