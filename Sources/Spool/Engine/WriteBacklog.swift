import SpoolCore
import SpoolSystem

/// The work that waits for the disk outside the buffer pool: bytes on their way to a file, and
/// commits on their way to the index.
///
/// The pool bounds the memory of large files. A small file is fetched without the pool, and the
/// fetch ends before its bytes are stored. So a slow disk would let any number of small files pile
/// up, each with a session of about 8 KiB. Beyond ``limitBytes`` or ``limitJobs`` a new fetch waits
/// with its first bytes until the disk has caught up. May be called on any thread; wakes run
/// outside the lock.
package final class WriteBacklog: Sendable {
    /// The most bytes that wait for a file: two blocks for each of as many fetches as run at once.
    /// With half of that, fetches were paused on a disk that was only busy. libcurl then kept more
    /// memory for the paused fetches than the bound saved.
    package static let limitBytes = 8 << 20

    /// The most writes and commits that wait, with at most 4 MiB of sessions. Without this bound,
    /// the origin sent small files faster than the index took them. While 40 000 files of 4 KiB
    /// were fetched, 9 400 commits waited. After 88 000 files, 238 MiB were in use.
    package static let limitJobs = 512

    private struct State {
        var bytes = 0
        var jobs = 0
        var waiting: [@Sendable () -> Void] = []

        var hasRoom: Bool { bytes < WriteBacklog.limitBytes && jobs < WriteBacklog.limitJobs }
    }

    private let state = Locked(State())

    /// Whether a new fetch may keep its first bytes. Another thread may take the room first.
    var hasRoom: Bool { state.withLock { $0.hasRoom } }

    /// Adds a write of a buffer outside the pool, or a commit, which has no bytes.
    func enter(_ bytes: Int = 0) {
        state.withLock { state in
            state.bytes += bytes
            state.jobs += 1
        }
    }

    /// Takes out a write or a commit that has succeeded or failed.
    func leave(_ bytes: Int = 0) {
        let wakes = state.withLock { state -> [@Sendable () -> Void] in
            state.bytes -= bytes
            state.jobs -= 1
            guard state.hasRoom else { return [] }
            return exchange(&state.waiting, with: [])
        }
        for wake in wakes { wake() }
    }

    /// Calls `wake` once as soon as there is room: at once, or on the thread that makes room. A
    /// caller that finds none then calls this again.
    func whenRoom(_ wake: @escaping @Sendable () -> Void) {
        let hasRoom = state.withLock { state -> Bool in
            if state.hasRoom { return true }
            state.waiting.append(wake)
            return false
        }
        if hasRoom { wake() }
    }
}
