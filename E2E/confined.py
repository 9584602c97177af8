"""The filters of a systemd unit, applied to one process, and a resolver that gives public names a test address.

systemd translates the lines of a unit into filters for system calls. This module translates the same lines, so that a program can be run
under them without systemd. `systemd-analyze` knows the groups of `SystemCallFilter`.
"""

import re
import subprocess
from pathlib import Path

from harness import Skip, find_program

# A public address that belongs to nobody (RFC 5737). Connections to it come to loopback.
PUBLIC_ADDRESS = "203.0.113.7"
# The exit status of the launcher where the system forbids filters.
NO_FILTERS = 77

LAUNCHER = r"""
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#define ADD(code, jump, other, value) program[n++] = (struct sock_filter){code, jump, other, value}
#define LOAD(field) ADD(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, field))
#define END(result) ADD(BPF_RET | BPF_K, 0, 0, result)
#define ALLOW_IF(value) ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value); END(SECCOMP_RET_ALLOW)
static struct sock_filter program[4096];
static void install(int count) {
    struct sock_fprog filter = {count, program};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) { perror("seccomp"); exit(77); }
}
static const int families[] = {FAMILIES};
static const int calls[] = {
CALLS
};
/* Denies `call` when all bits of `mask` are in the argument. */
static void deny_bits(int call, int argument, int mask) {
    int n = 0;
    LOAD(nr);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, call);
    END(SECCOMP_RET_ALLOW);
    ADD(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args) + 8 * argument);
    ADD(BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    ALLOW_IF(0);
    if (mask & (mask - 1)) { ADD(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, mask); END(SECCOMP_RET_ALLOW); }
    END(SECCOMP_RET_ERRNO | EPERM);
    install(n);
}
int main(int argc, char **argv) {
    int n = 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 77;
    LOAD(nr);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_socket);
    END(SECCOMP_RET_ALLOW);
    ADD(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args));
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) { ALLOW_IF(families[i]); }
    END(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
    install(n);
    if (DENIES_WRITE_EXECUTE) {
        deny_bits(SYS_mmap, 2, PROT_WRITE | PROT_EXEC);
        deny_bits(SYS_mprotect, 2, PROT_EXEC);
    }
    /* Last, because it may deny the calls that install filters. */
    n = 0;
    LOAD(nr);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) { ALLOW_IF(calls[i]); }
    END(SECCOMP_RET_ERRNO | EPERM);
    setenv("LD_PRELOAD", argv[1], 1);
    install(n);
    execv(argv[2], argv + 2);
    return 127;
}
"""

RESOLVER = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    size_t length = name ? strlen(name) : 0;
    if (length < 8 || strcmp(name + length - 8, ".example")) return next(name, service, hints, result);
    struct addrinfo only = {0};
    if (hints) only = *hints;
    only.ai_family = AF_INET;
    only.ai_flags = AI_NUMERICHOST;
    return next("ADDRESS", service, &only, result);
}
int connect(int socket, const struct sockaddr *address, socklen_t length) {
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    struct sockaddr_in here;
    int type = 0;
    socklen_t size = sizeof type;
    getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size);
    if (address->sa_family != AF_INET || type != SOCK_STREAM) return next(socket, address, length);
    memcpy(&here, address, sizeof here);
    if (here.sin_addr.s_addr == inet_addr("ADDRESS")) here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return next(socket, (struct sockaddr *)&here, length);
}
""".replace("ADDRESS", PUBLIC_ADDRESS)


class Unit:
    """The lines of a unit that become filters."""

    def __init__(self, path):
        self.text = Path(path).read_text(encoding="utf-8")

    def values(self, name):
        return re.findall(rf"^{name}=(.*)$", self.text, re.M)

    def families(self):
        return " ".join(self.values("RestrictAddressFamilies")).split()

    def denies_write_execute(self):
        return self.values("MemoryDenyWriteExecute") == ["yes"]

    def calls(self):
        """Returns the names of the permitted calls. A line with `~` takes calls away from those before it."""
        permitted = group("@default")
        for line in self.values("SystemCallFilter"):
            names = set().union(*(group(name) for name in line.lstrip("~").split()))
            permitted = permitted - names if line.startswith("~") else permitted | names
        return sorted(permitted)


def group(name):
    """Returns the calls of a group, or the call itself."""
    if not name.startswith("@"):
        return {name}
    analyze = find_program("systemd-analyze")
    done = subprocess.run([analyze, "syscall-filter", name], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    words = [line.strip() for line in done.stdout.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    return set().union(*(group(word) for word in words))


def compile_c(compiler, text, path, *flags):
    path.with_suffix(".c").write_text(text, encoding="utf-8")
    subprocess.run([compiler, "-O1", "-o", path, path.with_suffix(".c"), *flags], stdin=subprocess.DEVNULL, check=True)
    return path


def make(context, unit):
    """Returns the launcher for the filters of a unit, and the resolver."""
    compiler = context.program("cc")
    calls = "\n".join(f"#ifdef SYS_{name}\nSYS_{name},\n#endif" for name in unit.calls())
    text = LAUNCHER.replace("{FAMILIES}", "{" + ", ".join(unit.families()) + "}").replace("\nCALLS\n", f"\n{calls}\n")
    text = text.replace("DENIES_WRITE_EXECUTE", "1" if unit.denies_write_execute() else "0")
    launcher = compile_c(compiler, text, context.directory / "launcher")
    resolver = compile_c(compiler, RESOLVER, context.directory / "resolver.so", "-shared", "-fPIC", "-ldl")
    probe = context.run(launcher, "", "/bin/true", check=False)
    if probe.returncode == NO_FILTERS:
        raise Skip(f"the system forbids filters: {probe.stderr.decode(errors='replace').strip()}")
    return launcher, resolver
