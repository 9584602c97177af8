#if !canImport(Darwin)
import CSpoolSystem
#endif

/// Runs `body` on this thread so that a peer that is gone is an error of the call and not a SIGPIPE.
///
/// On Linux `sendfile` has no flag against the signal, and setting its disposition for the whole process is the app's business, not a library's.
/// On Darwin each socket says SO_NOSIGPIPE.
func withoutPipeSignal(_ body: () -> Void) {
    #if canImport(Darwin)
    body()
    #else
    let isOurs = spool_pipe_signal_block() == 1
    body()
    if isOurs { spool_pipe_signal_unblock() }
    #endif
}
