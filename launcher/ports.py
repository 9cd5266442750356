"""Free ports of the loopback for servers of our own."""

import random
import socket
from pathlib import Path

UNPRIVILEGED = range(15_000, 60_000)
RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")
USUAL_OUTGOING = range(49_152, 65_536)  # IANA's dynamic ports
# processes that start side by side draw apart from each other, whatever they seed
_draw = random.SystemRandom()


def free_port() -> int:
    """A port that nobody listens on at the moment, and that the system lends to no outgoing connection.

    One of those could take it before the server binds, or while the server is away to be started again.
    """
    outgoing = outgoing_ports()
    ports = [port for port in UNPRIVILEGED if port not in outgoing] or UNPRIVILEGED
    while not is_free(port := _draw.choice(ports)):
        pass
    return port


def outgoing_ports() -> range:
    """What the system lends from; the usual ones where it does not say."""
    if not RANGE_FILE.exists():
        return USUAL_OUTGOING
    first, last = map(int, RANGE_FILE.read_text().split())
    return range(first, last + 1)


def is_free(port: int) -> bool:
    """Whether a server of ours could bind it."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
