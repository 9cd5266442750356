"""Free ports of the loopback."""

import random
import socket
from pathlib import Path

UNPRIVILEGED = range(15_000, 60_000)
RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")
# the processes of a parallel run draw apart from each other, whatever their tests seed
_draw = random.SystemRandom()


def free_port() -> int:
    """A port that nobody listens on at the moment, and that the system lends to no outgoing connection.

    One of those could hold the port of a server that a test has killed, when that is to start again.
    """
    outgoing = outgoing_ports()
    ports = [port for port in UNPRIVILEGED if port not in outgoing] or UNPRIVILEGED
    while not is_free(port := _draw.choice(ports)):
        pass
    return port


def outgoing_ports() -> range:
    """What the system lends from; empty where it does not say."""
    if not RANGE_FILE.exists():
        return range(0)
    first, last = map(int, RANGE_FILE.read_text().split())
    return range(first, last + 1)


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
