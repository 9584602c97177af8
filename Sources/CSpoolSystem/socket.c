#include "CSpoolSystem.h"

#if defined(__linux__)
#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
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

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif

// The bit of `SO_BUF_LOCK` for the buffer of received bytes (linux/socket.h).
static const uint32_t receive_lock = 2;

int32_t spool_tcp_hold(int32_t socket, uint32_t reserve, uint32_t least, uint32_t most, uint32_t *before) {
    // `tcpi_rcv_wnd` follows `tcpi_snd_wnd` since Linux 6.2. Earlier headers do not have it.
    enum { window_place = offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(uint32_t) };
    unsigned char info[window_place + sizeof(uint32_t)];
    uint32_t memory[SK_MEMINFO_VARS], window;
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, info, &length) < 0) return -errno;
    if (length < sizeof info) return -ENOTSUP;
    memcpy(&window, info + window_place, sizeof window);
    length = sizeof memory;
    if (getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory, &length) < 0) return -errno;
    if (length < sizeof memory) return -ENOTSUP;
    int waiting = 0;
    if (ioctl(socket, FIONREAD, &waiting) < 0) return -errno;
    // A packet takes twice the memory of its bytes, or as much as those that wait, if that is more.
    uint64_t used = memory[SK_MEMINFO_RMEM_ALLOC], expected = ((uint64_t)window + reserve) * 2;
    if (waiting > 0 && used > 2 * (uint64_t)waiting) expected = expected / 2 * used / (uint64_t)waiting;
    if (used + expected >= memory[SK_MEMINFO_RCVBUF]) return -EALREADY;
    // With less memory than that, the kernel would drop packets that are on their way. It doubles
    // each value.
    uint64_t limit = 2 * (uint64_t)most;
    if (used + expected > limit) return -EAGAIN;
    // What it had before is set again later, up to the limit.
    if (memory[SK_MEMINFO_RCVBUF] > limit && least > limit) return -EAGAIN;
    uint32_t bound = (uint32_t)((used + expected + 1) / 2);
    if (setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bound, sizeof bound) < 0) return -errno;
    *before = memory[SK_MEMINFO_RCVBUF];
    return 0;
}

int32_t spool_tcp_release(int32_t socket, uint32_t bytes) {
    uint32_t value = bytes / 2, lock;
    socklen_t length = sizeof lock;
    if (setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &value, sizeof value) < 0) return -errno;
    if (getsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &lock, &length) < 0) return -errno;
    lock &= ~receive_lock;
    return setsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &lock, sizeof lock) < 0 ? -errno : 0;
}
#endif
