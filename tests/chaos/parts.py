"""The parts of one whole installation, each of which may be killed outright and is started again by its keeper."""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Protocol

import psutil

from tests.services.broker import Broker
from tests.services.installation import Process
from tests.services.postgres_server import PostgresServer

LOOK_S = 0.1


class Part(Protocol):
    """What a keeper looks after."""

    name: str

    def start(self) -> None: ...
    def kill(self, how: str) -> None: ...
    def running(self) -> bool: ...


class ProductPart:
    """A process of the product.

    `how` it is killed: its `main` process alone, a `child` of that, or `all` at once; or `term`, asked to end.
    """

    def __init__(self, name: str, make: Callable[[], Process]) -> None:
        self.name, self._make = name, make
        self.process: Process | None = None

    def start(self) -> None:
        self.process = self._make()

    def running(self) -> bool:
        return self.process is not None and self.process.running()

    def kill(self, how: str) -> None:
        if self.process is None or not self.process.running():
            return
        if how == "term":
            self.process.ask_to_end()
            return
        children = self.process.children()
        if how == "child" and children:
            send(children[0], signal.SIGKILL)
            return
        self.process.kill()
        for child in children if how == "all" else []:
            send(child, signal.SIGKILL)


class BrokerPart:
    """Redis, which loses all data with every kill."""

    name = "redis"

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._up = True

    def start(self) -> None:
        self._broker.start()
        self._up = True

    def kill(self, how: str) -> None:
        self._broker.kill()
        self._up = False

    def running(self) -> bool:
        return self._up


class PostgresPart:
    """The database server."""

    name = "postgres"

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._up = True

    def start(self) -> None:
        self._server.start()
        self._up = True

    def kill(self, how: str) -> None:
        self._server.kill()
        self._up = False

    def running(self) -> bool:
        return self._up


class Keeper:
    """Starts again what has ended, as a launcher or compose does; a part that was killed may be held down a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: dict[str, Part] = {}
        self._down_until: dict[str, float] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper of parts")
        self.starts: dict[str, int] = {}
        self.error: BaseException | None = None

    def add(self, part: Part, *, started: bool = False) -> None:
        """Look after this part from now on, and start it."""
        with self._lock:
            self._parts[part.name] = part
            self.starts[part.name] = 0
            if not started:
                part.start()

    def drop(self, *names: str) -> None:
        """Kill these parts for good."""
        with self._lock:
            for name in names:
                self._parts.pop(name).kill("all")

    def watch(self) -> None:
        self._thread.start()

    def kill(self, name: str, how: str = "main", down_s: float = 0.0) -> None:
        """Kill a part and keep it from starting for `down_s`."""
        with self._lock:
            self._down_until[name] = time.monotonic() + down_s
            self._parts[name].kill(how)

    def all_running(self) -> bool:
        with self._lock:
            return all(part.running() for part in self._parts.values())

    def stop(self) -> None:
        """Stop looking; raises what went wrong while a part was started again."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            while not self._stopping.wait(LOOK_S):
                self._look()
        except Exception as error:  # noqa: BLE001 - raised again by `stop`, in the thread of the test
            self.error = error

    def _look(self) -> None:
        for name, part in list(self._parts.items()):
            with self._lock:
                if name in self._parts and not part.running() and time.monotonic() >= self._down_until.get(name, 0.0):
                    part.start()
                    self.starts[name] += 1


def send(process: psutil.Process, number: int) -> None:
    """A signal to a process that may be gone by now."""
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return
