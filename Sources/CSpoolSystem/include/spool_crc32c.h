#pragma once
#include <stddef.h>
#include <stdint.h>

// CRC32C (RFC 3720 §12.1, Castagnoli's polynomial), computed by the fastest method of the CPU.
// Checks have their usual form, inverted at both ends. The check of no bytes is 0.

/// The methods of computing a check, from the slowest to the fastest. A CPU that supports one also
/// supports those before it.
enum {
    /// Tables, on any CPU.
    SPOOL_CRC32C_TABLE,
    /// The CPU's own instruction: SSE 4.2, or the CRC extension of ARMv8.
    SPOOL_CRC32C_INSTRUCTION,
    /// Carry-less products of 64 bytes at a time: AVX-512 with VPCLMULQDQ.
    SPOOL_CRC32C_PRODUCTS,
};

/// Returns the check of `count` bytes that follow bytes with the check `check`, by the fastest
/// method of this CPU.
uint32_t spool_crc32c(uint32_t check, const void *bytes, size_t count);

/// Returns the same check by one method. If the CPU does not support the method, uses the fastest
/// one before it.
uint32_t spool_crc32c_by(int32_t method, uint32_t check, const void *bytes, size_t count);

/// Returns the fastest method of this CPU.
int32_t spool_crc32c_best(void);

/// Returns the check of two adjacent runs of bytes, from their checks and the length of the second
/// run.
uint32_t spool_crc32c_combine(uint32_t first, uint32_t second, uint64_t second_count);
