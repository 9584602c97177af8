#pragma once
#include <pthread.h>
#include <stdint.h>

// Scheduler calls that Swift can't name: Linux's system calls, and functions that glibc declares
// only with _GNU_SOURCE.

/// Names the calling thread. Linux keeps the first 15 bytes.
void spool_name_this_thread(const char *name);

/// Asks the scheduler for turns of this many nanoseconds for the calling thread: each turn is
/// shorter, and the thread waits less for it (sched_setattr(2), sched_runtime of SCHED_OTHER, Linux
/// 6.12 and later). Policy and nice value stay. Returns 0, or -1 with errno when the kernel does
/// not support it; nothing changes then.
int32_t spool_ask_short_turns(uint64_t nanoseconds);

/// Returns the core on which the calling thread runs at this moment, or -1 when it is not known: on
/// Darwin, and when sched_getcpu(3) fails.
int32_t spool_current_core(void);

/// Removes `core` from the cores on which `thread` may run, after adding `previous` again; -1 means
/// no core. Returns 1 when `core` was removed. Returns 0 when `thread` could not run on it, when it
/// was the only one, or when the system refuses (pthread_setaffinity_np(3), cores up to
/// CPU_SETSIZE). A thread that runs on `core` moves to another one at once. `thread` must not have
/// been joined or detached. Does nothing on Darwin.
int32_t spool_avoid_core(pthread_t thread, int32_t previous, int32_t core);
