// Readiness, wake-ups, signals and socket calls that the platform's Swift module does not offer.
// Every function returns a value of 0 or more, or the negated error number.
#pragma once
#include <stdint.h>

/// The events for which a descriptor is watched, and those that it reports.
enum {
    SPOOL_READ = 1,
    SPOOL_WRITE = 2,
    /// The peer closed its sending side.
    SPOOL_PEER_CLOSED = 4,
    /// Error or hang-up; reported for every interest.
    SPOOL_FAILED = 8
};

/// One report of `spool_poll_wait`.
struct spool_event {
    uint64_t token;
    uint32_t flags;
    uint32_t unused;
};

#if defined(__linux__)
/// Opens an epoll descriptor.
int32_t spool_poll_open(void);
/// Adds a descriptor (level-triggered).
int32_t spool_poll_add(int32_t poll, int32_t descriptor, uint32_t interest, uint64_t token);
/// Changes the events for which a descriptor is watched.
int32_t spool_poll_change(int32_t poll, int32_t descriptor, uint32_t interest, uint64_t token);
/// Stops watching a descriptor.
int32_t spool_poll_remove(int32_t poll, int32_t descriptor);
/// Waits for at most `milliseconds` (-1: without a limit). Returns the number of events.
int32_t spool_poll_wait(int32_t poll, struct spool_event *events, int32_t capacity, int32_t milliseconds);
/// Opens an event descriptor and adds it edge-triggered, so that it need never be read.
int32_t spool_wake_open(int32_t poll, uint64_t token);
/// Makes an event descriptor readable, so that its poll returns.
int32_t spool_wake(int32_t descriptor);
/// Accepts a connection. Its descriptor is non-blocking and closed on exec.
int32_t spool_accept(int32_t listener);
/// Sends at most `count` bytes of a file. Raises SIGPIPE when the peer is gone, because it has no
/// flag against it as `send` has.
int64_t spool_sendfile(int32_t socket, int32_t file, int64_t offset, uint64_t count);
/// Blocks SIGPIPE in the calling thread. Returns 1 if it was not blocked before.
int32_t spool_pipe_signal_block(void);
/// Discards a pending SIGPIPE and unblocks the signal.
void spool_pipe_signal_unblock(void);
#endif

/// Makes the signal write its number as one byte to `descriptor` and do nothing else. `descriptor`
/// must be non-blocking; -1 restores the signal's default action.
int32_t spool_signal_redirect(int32_t signal, int32_t descriptor);
