#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CSpoolSystem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

static uint32_t epoll_interest(uint32_t interest) {
    uint32_t events = 0;
    if (interest & SPOOL_READ) events |= EPOLLIN;
    if (interest & SPOOL_WRITE) events |= EPOLLOUT;
    if (interest & SPOOL_PEER_CLOSED) events |= EPOLLRDHUP;
    return events;
}

static uint32_t reported(uint32_t events) {
    uint32_t flags = 0;
    if (events & EPOLLIN) flags |= SPOOL_READ;
    if (events & EPOLLOUT) flags |= SPOOL_WRITE;
    if (events & EPOLLRDHUP) flags |= SPOOL_PEER_CLOSED;
    if (events & (EPOLLERR | EPOLLHUP)) flags |= SPOOL_FAILED;
    return flags;
}

static int32_t control(int32_t poll, int operation, int32_t descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = events;
    event.data.u64 = token;
    return epoll_ctl(poll, operation, descriptor, &event) < 0 ? -errno : 0;
}

int32_t spool_poll_open(void) {
    int descriptor = epoll_create1(EPOLL_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

int32_t spool_poll_add(int32_t poll, int32_t descriptor, uint32_t interest, uint64_t token) {
    return control(poll, EPOLL_CTL_ADD, descriptor, epoll_interest(interest), token);
}

int32_t spool_poll_change(int32_t poll, int32_t descriptor, uint32_t interest, uint64_t token) {
    return control(poll, EPOLL_CTL_MOD, descriptor, epoll_interest(interest), token);
}

int32_t spool_poll_remove(int32_t poll, int32_t descriptor) {
    return control(poll, EPOLL_CTL_DEL, descriptor, 0, 0);
}

int32_t spool_poll_wait(int32_t poll, struct spool_event *events, int32_t capacity, int32_t milliseconds) {
    enum { LIMIT = 256 };
    struct epoll_event batch[LIMIT];
    int count = epoll_wait(poll, batch, capacity < LIMIT ? capacity : LIMIT, milliseconds);
    if (count < 0) return -errno;
    for (int i = 0; i < count; i++) {
        events[i].token = batch[i].data.u64;
        events[i].flags = reported(batch[i].events);
        events[i].unused = 0;
    }
    return count;
}

int32_t spool_wake_open(int32_t poll, uint64_t token) {
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) return -errno;
    int32_t result = control(poll, EPOLL_CTL_ADD, descriptor, EPOLLIN | EPOLLET, token);
    if (result < 0) {
        close(descriptor);
        return result;
    }
    return descriptor;
}

int32_t spool_wake(int32_t descriptor) {
    uint64_t one = 1;
    return write(descriptor, &one, sizeof one) < 0 ? -errno : 0;
}

int32_t spool_accept(int32_t listener) {
    int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

int64_t spool_sendfile(int32_t socket, int32_t file, int64_t offset, uint64_t count) {
    off64_t position = offset;
    ssize_t sent = sendfile64(socket, file, &position, count);
    return sent < 0 ? -errno : sent;
}

int32_t spool_pipe_signal_block(void) {
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (pthread_sigmask(SIG_BLOCK, &pipe, &before) != 0) return 0;
    return sigismember(&before, SIGPIPE) ? 0 : 1;
}

void spool_pipe_signal_unblock(void) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const struct timespec now = {0, 0};
    while (sigtimedwait(&pipe, NULL, &now) > 0) {
    }
    pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
}
#endif

// One slot for each signal. It is written before the handler is installed, and the handler reads
// it.
enum { SIGNAL_LIMIT = 32 };
static volatile int redirected[SIGNAL_LIMIT];

static void redirect(int number) {
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    // If the pipe is full, the loop has unread signals anyway.
    ssize_t ignored = write(redirected[number], &byte, 1);
    (void)ignored;
    errno = saved;
}

int32_t spool_signal_redirect(int32_t number, int32_t descriptor) {
    if (number <= 0 || number >= SIGNAL_LIMIT) return -EINVAL;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    action.sa_handler = descriptor < 0 ? SIG_DFL : redirect;
    if (descriptor >= 0) redirected[number] = descriptor;
    return sigaction(number, &action, NULL) < 0 ? -errno : 0;
}
