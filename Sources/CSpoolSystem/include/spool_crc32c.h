#pragma once
#include <stddef.h>
#include <stdint.h>

// CRC32C (RFC 3720 §12.1, Castagnoli's polynomial), by what the CPU has for it.
// Checks are in their usual form, inverted at both ends; the check of no bytes is 0.

/// How a check is made, from the slowest to the fastest; who can do one can do those before it.
enum {
    /// By tables, on any CPU.
    SPOOL_CRC32C_TABLE,
    /// By the CPU's own instruction for it: SSE 4.2, the CRC extension of ARMv8.
    SPOOL_CRC32C_INSTRUCTION,
    /// By carry-less products of 64 bytes at a time: AVX-512 with VPCLMULQDQ.
    SPOOL_CRC32C_PRODUCTS,
};

/// The check of `count` bytes that follow others whose check is `check`, by the fastest way that this CPU has.
uint32_t spool_crc32c(uint32_t check, const void *bytes, size_t count);

/// The same in one of the ways above, or in the fastest before it where the CPU does not have that.
uint32_t spool_crc32c_by(int32_t method, uint32_t check, const void *bytes, size_t count);

/// The fastest way that this CPU has.
int32_t spool_crc32c_best(void);

/// The check of two runs of bytes one after the other, by their checks and the length of the second.
uint32_t spool_crc32c_combine(uint32_t first, uint32_t second, uint64_t second_count);
