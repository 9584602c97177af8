#pragma once
#include <stdint.h>

/// Reads the number of payload bytes that arrived on a TCP connection since it was made. Returns 0
/// or a negative error number.
int32_t spool_tcp_received(int32_t socket, uint64_t *bytes);
