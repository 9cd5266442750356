"""Decides what one start consists of, from the settings and from what this machine offers."""

import fcntl
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evaluator.build.toolchain import toolchain
from evaluator.errors import GraderFault
from grading.environment import Reader
from grading.settings import Settings
from launcher import cuda
from launcher.broker import PrivateBroker, private_broker

HOST = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")


class CannotStart(Exception):
    """A reason not to start, as a sentence for the user."""


@dataclass(frozen=True)
class Plan:
    """`broker` is None where REDIS_URL names one. `*_why` explain a choice to the user."""

    settings: Settings
    broker: PrivateBroker | None
    evaluator_why: str
    flower_port: int | None
    builders: int

    @property
    def url(self) -> str:
        bind = self.settings.bind
        host = HOST if bind in EVERYWHERE else f"[{bind}]" if ":" in bind else bind
        return f"http://{host}:{self.settings.port}"

    @property
    def log_dir(self) -> Path:
        return self.settings.data_dir / "logs"

    def environment(self) -> dict[str, str]:
        """What every child gets on top of our own environment, so that all of them decide alike."""
        settings = self.settings
        return {
            "DATABASE_URL": settings.database_url,
            "REDIS_URL": self.broker.url if self.broker else settings.redis_url,
            "PORT": str(settings.port),
            "KERNEL_ENV_DATA_DIR": str(settings.data_dir),
            "KERNEL_ENV_EVALUATOR": settings.evaluator,
        }


def choose_evaluator(environ: Mapping[str, str]) -> tuple[str, str]:
    """(evaluator, why): the one that the environment names, else `gpu` where CUDA works, else `cpu`."""
    if named := environ.get("KERNEL_ENV_EVALUATOR", "").strip():
        return named, "KERNEL_ENV_EVALUATOR"
    reason = cuda.why_not()
    return ("cpu", reason) if reason else ("gpu", "CUDA works here")


def read_settings(environ: Mapping[str, str]) -> tuple[Settings, str]:
    """(settings, why this evaluator). Raises SettingsError with a sentence."""
    evaluator, why = choose_evaluator(environ)
    return Settings.load({**environ, "KERNEL_ENV_EVALUATOR": evaluator}), why


def make_plan(settings: Settings, evaluator_why: str, environ: Mapping[str, str]) -> Plan:
    """Look around and choose; to be called with the data directory locked.

    Raises SettingsError, CannotStart or BrokerError with a sentence.
    """
    flower_port = Reader(environ).integer("KERNEL_ENV_FLOWER_PORT", 0, low=0, high=65535) or None
    require_free(settings.port, "PORT")
    if flower_port is not None:
        require_free(flower_port, "KERNEL_ENV_FLOWER_PORT")
    broker = None if environ.get("REDIS_URL", "").strip() else private_broker(settings.data_dir)
    return Plan(settings, broker, evaluator_why, flower_port, builders(settings, environ))


def builders(settings: Settings, environ: Mapping[str, str]) -> int:
    """How many to start: where nobody asked for any, none that could not compile."""
    if environ.get("KERNEL_ENV_BUILDERS", "").strip() or settings.evaluator == "mock":
        return settings.builders
    try:
        return settings.builders if toolchain().nvcc else 0
    except GraderFault:
        return 0


def require_free(port: int, variable: str) -> None:
    """Raises CannotStart with a way out where somebody else listens on `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CannotStart(
                f"Port {port} of {HOST} cannot be used ({os.strerror(error.errno or 0).lower()}): stop what holds it, "
                f"or choose another, as in `{variable}={port + 1 if port < 65535 else 8000} make run`."
            ) from error


@contextmanager
def lock_data_dir(data_dir: Path) -> Iterator[None]:
    """Keep a second start out of the same data directory; the lock ends with this process. Raises CannotStart."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)  # database, secret and logs are nobody else's
    with (data_dir / "launcher.lock").open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            handle.seek(0)
            raise CannotStart(
                f"Another server (process {handle.read().strip() or 'unknown'}) runs with the data in {data_dir}: "
                f"stop it, or choose another place with KERNEL_ENV_DATA_DIR."
            ) from error
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield
