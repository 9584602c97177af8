#include "CSpoolSystem.h"

#if defined(__linux__)
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

int32_t spool_tcp_received(int32_t socket, uint64_t *bytes) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) < 0) return -errno;
    // An older kernel fills a part of the structure.
    if (length < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) return -ENOTSUP;
    *bytes = info.tcpi_bytes_received;
    return 0;
}
#endif
