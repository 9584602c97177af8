#if !canImport(Darwin)
import CSpoolSystem
#endif

/// Runs `body` so that a closed peer causes an error of the call and no SIGPIPE on this thread.
///
/// On Linux, `sendfile` has no flag against the signal. The disposition of the signal for the whole
/// process belongs to the app and not to a library. On Darwin, each socket sets SO_NOSIGPIPE.
func withoutPipeSignal(_ body: () -> Void) {
    #if canImport(Darwin)
    body()
    #else
    let isOurs = spool_pipe_signal_block() == 1
    body()
    if isOurs { spool_pipe_signal_unblock() }
    #endif
}
