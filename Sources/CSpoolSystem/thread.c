#define _GNU_SOURCE
#include "spool_thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef __APPLE__

void spool_name_this_thread(const char *name) { pthread_setname_np(name); }

int32_t spool_ask_short_turns(uint64_t nanoseconds) {
    (void)nanoseconds;
    errno = ENOTSUP;
    return -1;
}

int32_t spool_current_core(void) { return -1; }

int32_t spool_avoid_core(pthread_t thread, int32_t previous, int32_t core) {
    (void)thread;
    (void)previous;
    (void)core;
    return 0;
}

#else

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

void spool_name_this_thread(const char *name) {
    char shortened[16];
    snprintf(shortened, sizeof shortened, "%s", name);
    pthread_setname_np(pthread_self(), shortened);
}

// The first version of the kernel's struct sched_attr. Every kernel with the call accepts it, and
// the C library does not declare it.
struct spool_sched_attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};

int32_t spool_ask_short_turns(uint64_t nanoseconds) {
    struct spool_sched_attributes attributes;
    memset(&attributes, 0, sizeof attributes);
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return -1;
    if (attributes.policy != 0) return 0;
    attributes.size = sizeof attributes;
    attributes.runtime = nanoseconds;
    return (int32_t)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

int32_t spool_current_core(void) { return sched_getcpu(); }

int32_t spool_avoid_core(pthread_t thread, int32_t previous, int32_t core) {
    cpu_set_t cores;
    if (pthread_getaffinity_np(thread, sizeof cores, &cores) != 0) return 0;
    if (previous >= 0 && previous < CPU_SETSIZE) CPU_SET(previous, &cores);
    int32_t taken = core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, &cores) && CPU_COUNT(&cores) > 1;
    if (taken) CPU_CLR(core, &cores);
    return pthread_setaffinity_np(thread, sizeof cores, &cores) == 0 ? taken : 0;
}

#endif
