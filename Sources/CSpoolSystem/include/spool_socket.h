#pragma once
#include <stdint.h>

/// Reads the number of payload bytes that arrived on a TCP connection since it was made. Returns 0
/// or a negative error number.
int32_t spool_tcp_received(int32_t socket, uint64_t *bytes);

/// Returns the receive window that the peer of a TCP connection advertised last, in bytes, or a
/// negative error number.
int64_t spool_tcp_peer_window(int32_t socket);
