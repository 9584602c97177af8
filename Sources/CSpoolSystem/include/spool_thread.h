#pragma once
#include <pthread.h>
#include <stdint.h>

// What threads ask of the scheduler, for which Swift has no names: Linux's calls, and what glibc hides behind _GNU_SOURCE.

/// Names the calling thread; Linux keeps the first 15 bytes.
void spool_name_this_thread(const char *name);

/// Asks the scheduler for turns of so many nanoseconds for the calling thread: it gets less at a time and waits less for it
/// (sched_setattr(2), sched_runtime of SCHED_OTHER, Linux 6.12 and later). Policy and nice value stay. 0, or -1 with errno where
/// the kernel does not take it; nothing changes then.
int32_t spool_ask_short_turns(uint64_t nanoseconds);

/// The core on which the calling thread runs at this moment, -1 where the system does not say: Darwin, and sched_getcpu(3) that fails.
int32_t spool_current_core(void);

/// Takes `core` from those on which `thread` may run, after giving it `previous` back; -1 stands for none of either. 1 when `core` was taken; 0 when
/// it was none of them, or the only one, or when the system does not take it (pthread_setaffinity_np(3), cores up to CPU_SETSIZE).
/// A thread that runs there goes on elsewhere at once. `thread` must not have been joined or detached. Does nothing on Darwin.
int32_t spool_avoid_core(pthread_t thread, int32_t previous, int32_t core);
