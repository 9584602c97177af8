"""Ports for programs that cannot choose one themselves. Each worker has a share of its own."""

import random
import socket

# All shares lie below the ports that Linux gives to outgoing connections, which begin at 32768.
FIRST_PORT = 20_000
SHARE = 1_500
MOST_SHARES = 8

_share = range(FIRST_PORT, FIRST_PORT + SHARE)
_next = 0


def use_share(number):
    """Chooses the share of this process. Its first port is a random one, because other runs on this machine have the same shares."""
    global _share, _next  # pylint: disable=global-statement
    _share = range(FIRST_PORT + number * SHARE, FIRST_PORT + (number + 1) * SHARE)
    _next = random.SystemRandom().randrange(SHARE)


def free_port():
    """Returns a port of the share on which no program listens. Each call returns another one."""
    global _next  # pylint: disable=global-statement
    for _ in range(SHARE):
        port = _share[_next % SHARE]
        _next += 1
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError(f"no port is free from {_share[0]} to {_share[-1]}")
