#pragma once
#include <stdint.h>

// Numbers that threads share without a lock. Swift's own need newer systems than Spool supports on
// Apple's platforms.

/// Reads a number, and sees all that its writer wrote before it.
static inline int64_t spool_atomic_load(const int64_t *number) { return __atomic_load_n(number, __ATOMIC_ACQUIRE); }

/// Writes a number.
static inline void spool_atomic_store(int64_t *number, int64_t value) { __atomic_store_n(number, value, __ATOMIC_RELEASE); }

/// Writes a number, and returns the one before it.
static inline int64_t spool_atomic_exchange(int64_t *number, int64_t value) { return __atomic_exchange_n(number, value, __ATOMIC_ACQ_REL); }
