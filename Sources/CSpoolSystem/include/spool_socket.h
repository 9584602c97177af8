#pragma once
#include <stdint.h>

/// Reads the number of payload bytes that arrived on a TCP connection since it was made. Returns 0
/// or a negative error number.
int32_t spool_tcp_received(int32_t socket, uint64_t *bytes);

/// Bounds the memory for received bytes (`SO_RCVBUF`, socket(7)) to those that wait to be read, those
/// that the advertised window allows, and `reserve` bytes. Writes the previous bound to `before`.
/// Returns 0 or a negative error number: `-EALREADY` when the memory has no larger bound now, and
/// `-EAGAIN` when the limit of the system, `most` (net.core.rmem_max), does not permit it: neither the
/// previous bound nor `least` bytes could be set again. The kernel doubles the limit.
int32_t spool_tcp_hold(int32_t socket, uint32_t reserve, uint32_t least, uint32_t most, uint32_t *before);

/// Ends the bound of `spool_tcp_hold`: sets the memory for received bytes, and lets the kernel grow
/// it. Returns 0 or a negative error number.
int32_t spool_tcp_release(int32_t socket, uint32_t bytes);
