"""A preloaded library in which names below `.example` have a public address, whose connections come to this machine.

So the program takes an origin of a case for one of the Internet. The program under test is linked dynamically; a case for a static
build is skipped.
"""

import subprocess

from harness import Skip

# A documentation address (RFC 5737), which no machine has.
ADDRESS = "203.0.113.7"

LIBRARY = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    size_t length = name ? strlen(name) : 0;
    if (length < 8 || strcmp(name + length - 8, ".example")) return next(name, service, hints, result);
    struct addrinfo numeric = {0};
    if (hints) numeric = *hints;
    numeric.ai_family = AF_INET;
    numeric.ai_flags = AI_NUMERICHOST;
    return next(strncmp(name, "inside.", 7) ? "ADDRESS" : "127.0.0.1", service, &numeric, result);
}

/* The connections that lead elsewhere. Their peer has the documentation address, as the program under test asked for. */
static unsigned char moved[65536];

int close(int socket) {
    int (*next)(int) = dlsym(RTLD_NEXT, "close");
    if (socket >= 0 && socket < sizeof moved) moved[socket] = 0;
    return next(socket);
}

int getpeername(int socket, struct sockaddr *address, socklen_t *length) {
    int (*next)(int, struct sockaddr *, socklen_t *) = dlsym(RTLD_NEXT, "getpeername");
    int result = next(socket, address, length);
    if (!result && socket < sizeof moved && moved[socket]) ((struct sockaddr_in *)address)->sin_addr.s_addr = inet_addr("ADDRESS");
    return result;
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    struct sockaddr_in other;
    if (address->sa_family != AF_INET) return next(socket, address, length);
    memcpy(&other, address, sizeof other);
    if (other.sin_addr.s_addr != inet_addr("ADDRESS")) return next(socket, address, length);
    other.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket < sizeof moved) moved[socket] = 1;
    return next(socket, (struct sockaddr *)&other, sizeof other);
}
"""


def environment(t):
    """Returns the variables of a program for which names have addresses. A name that begins with `inside.` has a private one."""
    compiler = t.program("cc")
    if not compiler:
        raise Skip("no C compiler")
    if b"statically linked" in t.run("file", "-L", t.runner.binary, check=False).stdout:
        raise Skip("the program is linked statically")
    source, library = t.directory / "names.c", t.directory / "names.so"
    source.write_text(LIBRARY.replace("ADDRESS", ADDRESS), encoding="utf-8")
    t.run(compiler, "-shared", "-fPIC", "-o", library, source, "-ldl")
    return {"LD_PRELOAD": str(library)}
