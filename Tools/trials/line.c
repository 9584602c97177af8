// A slow line with a delay and a queue between two network interfaces, for trials with the TCP of
// the kernel. The relay of `scripts/bench` ends each TCP connection; this line passes on packets.
//
//     cc -O2 line.c -o line
//     ./line MIB_A_SECOND MILLISECONDS QUEUE_PACKETS      (as root; prints "ready")
//
// It makes the TUN interfaces `linea` and `lineb`. Packets from `linea` to `lineb` cross the line at
// the rate, after those that wait before it; a packet that finds the queue full is lost. Both
// directions have the delay. docs/lab has a run.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { maxPacket = 2048, maxWaiting = 1 << 14 };

struct packet {
    uint64_t arrival;
    uint32_t length;
    uint8_t bytes[maxPacket];
};

/// The packets on their way in one direction, in order of arrival.
struct way {
    struct packet *packets;
    uint32_t first, count;
    /// The time at which the line has sent all of them; 0 without a rate.
    uint64_t isFree;
};

static void check(int isRight, const char *what) {
    if (isRight) return;
    perror(what);
    exit(1);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int openInterface(const char *name) {
    int descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    check(descriptor >= 0, "/dev/net/tun");
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    check(ioctl(descriptor, TUNSETIFF, &request) == 0, "TUNSETIFF");
    return descriptor;
}

/// Takes the packets that an interface sends.
static void take(int from, struct way *way, double bytesPerNanosecond, uint64_t delay, uint64_t queueBytes) {
    for (;;) {
        struct packet *packet = &way->packets[(way->first + way->count) % maxWaiting];
        uint8_t lost[maxPacket];
        uint64_t time = now();
        uint64_t start = way->isFree > time ? way->isFree : time;
        int isFull = way->count == maxWaiting || (double)(start - time) * bytesPerNanosecond > (double)queueBytes;
        ssize_t length = read(from, isFull ? lost : packet->bytes, maxPacket);
        if (length <= 0) return;
        if (isFull) continue;
        if (bytesPerNanosecond > 0) way->isFree = start + (uint64_t)((double)length / bytesPerNanosecond);
        packet->length = (uint32_t)length;
        packet->arrival = (bytesPerNanosecond > 0 ? way->isFree : time) + delay;
        way->count++;
    }
}

/// Delivers the packets that have arrived.
static void deliver(int to, struct way *way) {
    while (way->count > 0 && way->packets[way->first].arrival <= now()) {
        struct packet *packet = &way->packets[way->first];
        // A full interface loses packets, as any other.
        ssize_t written = write(to, packet->bytes, packet->length);
        (void)written;
        way->first = (way->first + 1) % maxWaiting;
        way->count--;
    }
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: line MIB_A_SECOND MILLISECONDS QUEUE_PACKETS\n");
        return 2;
    }
    double bytesPerNanosecond = atof(words[1]) * 1048576 / 1e9;
    uint64_t delay = (uint64_t)(atof(words[2]) * 1e6), queueBytes = (uint64_t)atoi(words[3]) * 1500;
    int ends[2] = {openInterface("linea"), openInterface("lineb")};
    struct way ways[2] = {{0}};
    for (int index = 0; index < 2; index++) {
        ways[index].packets = malloc(sizeof(struct packet) * maxWaiting);
        check(ways[index].packets != NULL, "malloc");
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        uint64_t time = now(), next = time + 100000000;
        for (int index = 0; index < 2; index++) {
            if (ways[index].count > 0 && ways[index].packets[ways[index].first].arrival < next)
                next = ways[index].packets[ways[index].first].arrival;
        }
        struct timespec wait = {0, next > time ? (long)(next - time) : 0};
        struct pollfd polled[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
        ppoll(polled, 2, &wait, NULL);
        if (polled[0].revents & POLLIN) take(ends[0], &ways[0], bytesPerNanosecond, delay, queueBytes);
        if (polled[1].revents & POLLIN) take(ends[1], &ways[1], 0, delay, 0);
        deliver(ends[1], &ways[0]);
        deliver(ends[0], &ways[1]);
    }
}
