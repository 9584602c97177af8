#pragma once
#include <stddef.h>
#include <stdint.h>

// CRC32C (RFC 3720 §12.1, Castagnoli's polynomial), by the CPU's own instruction where it has one.
// Checks are in their usual form, inverted at both ends; the check of no bytes is 0.

/// The check of `count` bytes that follow others whose check is `check`.
uint32_t spool_crc32c(uint32_t check, const void *bytes, size_t count);

/// The same by tables, on any CPU: what is used where there is no instruction, and what tests compare with.
uint32_t spool_crc32c_by_table(uint32_t check, const void *bytes, size_t count);

/// The check of two runs of bytes one after the other, by their checks and the length of the second.
uint32_t spool_crc32c_combine(uint32_t first, uint32_t second, uint64_t second_count);

/// What `spool_crc32c` works with: "sse4.2", "armv8" or "table".
const char *spool_crc32c_method(void);
