import Glibc
import SpoolSystem

/// Ctrl-C, or the end that somebody else asks for: the files of the run are deleted before the harness ends. Its programs end with it.
final class Interruption {
    private let thread: LoopThread

    /// Programs that are ending may still make files; so often the directory is deleted again, …
    private static let attempts = 100
    /// … in milliseconds one after the other.
    private static let pauseMilliseconds: Int32 = 20

    /// Takes over the signals for the rest of the process.
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
                    // As a shell reports a program that a signal ended.
                    _exit(128 + signal)
                }
            } catch { failure.withLock { $0 = error } }
            done()
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}
