// Compares epoll with io_uring for answers of 4 KiB, without the rest of a server.
//
//     cc -O2 io_uring.c -o io_uring -luring
//     ./io_uring
//
// For each number of connections and each way, it prints the answers a second and the CPU time of
// the server process for one answer, as the median of the rounds. docs/lab has a run.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { requestBytes = 128, headBytes = 256, bodyBytes = 4096, answerBytes = headBytes + bodyBytes };
enum { maxConnections = 128, maxEvents = 512, bodies = 64, rounds = 7 };

static int media;

static void check(int isRight, const char *what) {
    if (isRight) return;
    perror(what);
    exit(1);
}

static void fill(char *answer, const char *request) {
    memset(answer, 'h', headBytes);
    off_t offset = (request[0] & (bodies - 1)) * bodyBytes;
    check(pread(media, answer + headBytes, bodyBytes, offset) == bodyBytes, "pread");
}

// Waits, receives and sends, with one call for each.
static void serveByEpoll(const int *sockets, int count) {
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET}, ready[maxEvents];
    for (int i = 0; i < count; i++) {
        event.data.fd = sockets[i];
        check(epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[i], &event) == 0, "epoll_ctl");
    }
    char request[requestBytes], answer[answerBytes];
    for (int open = count; open > 0;) {
        int n = epoll_wait(epoll, ready, maxEvents, -1);
        for (int i = 0; i < n; i++) {
            // The end can come in one event with the last request, which nobody waits for then.
            if (ready[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
                close(ready[i].data.fd);
                open--;
                continue;
            }
            if (recv(ready[i].data.fd, request, sizeof request, MSG_DONTWAIT) <= 0) continue;
            fill(answer, request);
            send(ready[i].data.fd, answer, sizeof answer, MSG_NOSIGNAL);
        }
    }
}

// Sends an answer and receives the next request, with one call for all that are ready.
static void serveByRing(const int *sockets, int count, unsigned flags) {
    static char requests[maxConnections][requestBytes], answers[maxConnections][answerBytes];
    struct io_uring ring;
    check(io_uring_queue_init(4 * maxConnections, &ring, flags) == 0, "io_uring_queue_init");
    for (int i = 0; i < count; i++) {
        struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
        io_uring_prep_recv(entry, sockets[i], requests[i], requestBytes, 0);
        io_uring_sqe_set_data64(entry, i);
    }
    for (int open = count; open > 0;) {
        io_uring_submit_and_wait(&ring, 1);
        struct io_uring_cqe *done;
        unsigned head, n = 0;
        io_uring_for_each_cqe(&ring, head, done) {
            n++;
            int i = (int)done->user_data;
            if (i >= maxConnections) continue; // A send that failed. The next receive tells why.
            if (done->res <= 0) {
                close(sockets[i]);
                open--;
                continue;
            }
            fill(answers[i], requests[i]);
            struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
            io_uring_prep_send(entry, sockets[i], answers[i], answerBytes, MSG_NOSIGNAL);
            io_uring_sqe_set_data64(entry, maxConnections + i);
            entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
            entry = io_uring_get_sqe(&ring);
            io_uring_prep_recv(entry, sockets[i], requests[i], requestBytes, 0);
            io_uring_sqe_set_data64(entry, i);
        }
        io_uring_cq_advance(&ring, n);
    }
}

// Asks for `total` answers and returns the seconds.
static double ask(const int *sockets, int count, long total) {
    int epoll = epoll_create1(0), got[maxConnections] = {0};
    struct epoll_event event = {.events = EPOLLIN}, ready[maxEvents];
    char request[requestBytes] = {0}, buffer[2 * answerBytes];
    struct timespec start, end;
    for (int i = 0; i < count; i++) {
        event.data.u32 = i;
        check(epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[i], &event) == 0, "epoll_ctl");
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < count; i++) send(sockets[i], request, sizeof request, 0);
    for (long done = 0; done < total;) {
        int n = epoll_wait(epoll, ready, maxEvents, -1);
        for (int i = 0; i < n; i++) {
            int index = (int)ready[i].data.u32;
            ssize_t received = recv(sockets[index], buffer, sizeof buffer, MSG_DONTWAIT);
            if (received <= 0) continue;
            got[index] += received;
            if (got[index] < answerBytes) continue;
            got[index] = 0;
            request[0] = (char)done++;
            send(sockets[index], request, sizeof request, 0);
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    close(epoll);
    return (end.tv_sec - start.tv_sec) + (end.tv_nsec - start.tv_nsec) / 1e9;
}

static void connectPairs(int *ours, int *theirs, int count) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    check(bind(listener, (void *)&address, size) == 0 && listen(listener, count) == 0, "listen");
    getsockname(listener, (void *)&address, &size);
    for (int i = 0; i < count; i++) {
        ours[i] = socket(AF_INET, SOCK_STREAM, 0);
        check(connect(ours[i], (void *)&address, sizeof address) == 0, "connect");
        theirs[i] = accept(listener, NULL, NULL);
        setsockopt(ours[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(theirs[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    close(listener);
}

static int ascending(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

int main(void) {
    const char *names[] = {"epoll", "io_uring", "io_uring, deferred work"};
    const int counts[] = {1, 128};
    char path[] = "/tmp/io_uring.XXXXXX", body[bodyBytes] = {0};
    media = mkstemp(path);
    check(media >= 0 && unlink(path) == 0, "mkstemp");
    for (int i = 0; i < bodies; i++) check(write(media, body, sizeof body) == bodyBytes, "write");
    double rates[2][3][rounds], costs[2][3][rounds];
    for (int round = 0; round < rounds; round++) {
        for (int c = 0; c < 2; c++) {
            for (int way = 0; way < 3; way++) {
                int ours[maxConnections], theirs[maxConnections], count = counts[c];
                long total = count == 1 ? 20000 : 80000;
                connectPairs(ours, theirs, count);
                pid_t server = fork();
                if (server == 0) {
                    unsigned flags = way == 2 ? IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN : 0;
                    for (int i = 0; i < count; i++) close(ours[i]);
                    if (way == 0) serveByEpoll(theirs, count);
                    else serveByRing(theirs, count, flags);
                    exit(0);
                }
                for (int i = 0; i < count; i++) close(theirs[i]);
                rates[c][way][round] = total / ask(ours, count, total);
                for (int i = 0; i < count; i++) close(ours[i]);
                struct rusage usage;
                int status;
                check(wait4(server, &status, 0, &usage) == server && status == 0, "server");
                double seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
                seconds += (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
                costs[c][way][round] = seconds / total * 1e6;
            }
        }
    }
    for (int c = 0; c < 2; c++) {
        for (int way = 0; way < 3; way++) {
            qsort(rates[c][way], rounds, sizeof(double), ascending);
            qsort(costs[c][way], rounds, sizeof(double), ascending);
            printf("%3d connections, %-24s %8.0f answers/s %7.2f us CPU (%.2f to %.2f)\n", counts[c], names[way],
                   rates[c][way][rounds / 2], costs[c][way][rounds / 2], costs[c][way][0], costs[c][way][rounds - 1]);
        }
    }
    return 0;
}
