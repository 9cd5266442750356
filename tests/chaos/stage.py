"""One whole installation for chaos: database, broker, API, workers and reaper as real processes over HTTP."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from grading.db import Database
from grading.migrate import upgrade
from launcher.ports import free_port
from tests.chaos.parts import BrokerPart, Keeper, PostgresPart, ProductPart
from tests.services.broker import Broker, broker
from tests.services.installation import Installation, installation, wait_for
from tests.services.postgres import execute
from tests.services.postgres_server import PostgresServer

READY_S = 90.0
# what runs a part: the product's own entry, or the one of the tests that may die at a point of its work
PLAIN = ("-m",)
DOOMED = ("-m", "tests.chaos.doomed")


@dataclass
class Stage:
    """`installed` has this process's own connections, past the API."""

    installed: Installation
    broker: Broker
    postgres: PostgresServer | None
    keeper: Keeper
    port: int
    entry: Sequence[str] = PLAIN

    @property
    def kind(self) -> str:
        """Of its database: `postgres` or `sqlite`."""
        return "postgres" if self.postgres else "sqlite"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def db(self) -> Database:
        return self.installed.db

    def part(self, name: str, arguments: Sequence[str], **environment: str) -> ProductPart:
        """Start a process of the product and look after it."""
        environment["CHAOS_POINT"] = str(self.point(name))
        made = ProductPart(name, lambda: self.installed.start([*self.entry, *arguments], name, environment))
        self.keeper.add(made)
        return made

    def point(self, name: str) -> Path:
        """The file that tells a doomed part where to die."""
        return self.installed.data_dir / f"{name}.point"

    def doom(self, name: str, point: str, fate: str = "kill") -> None:
        """Let a part suffer this fate when it next reaches the point."""
        self.point(name).with_suffix(".reached").unlink(missing_ok=True)
        draft = self.point(name).with_suffix(".draft")
        draft.write_text(f"{point} {fate}")
        draft.rename(self.point(name))

    def doomed(self, name: str) -> bool:
        """Whether the part has suffered it."""
        return self.point(name).with_suffix(".reached").exists()

    def disarm(self, *names: str) -> None:
        """Let these parts live on; all of them where none is named."""
        for path in self.installed.data_dir.glob("*.point"):
            if not names or path.stem in names:
                path.unlink(missing_ok=True)

    def add_api(self) -> ProductPart:
        bind = f"127.0.0.1:{self.port}"
        return self.part("api", ["gunicorn", "-c", "python:app.gunicorn_conf", "-b", bind, "app.wsgi:app"])

    def add_worker(self, number: int, **environment: str) -> ProductPart:
        """With a data directory of its own, as on another host: what it needs of others comes through the database."""
        environment.setdefault("KERNEL_ENV_DATA_DIR", str(self.installed.data_dir / f"host-{number}"))
        return self.part(f"worker-{number}", ["workers", str(number)], **environment)

    def add_builder(self, number: int) -> ProductPart:
        return self.part(f"builder-{number}", ["workers.builder", str(number)])

    def add_reaper(self) -> ProductPart:
        return self.part("reaper", ["workers.reaper"])

    def wait_until_ready(self, workers: int) -> None:
        """Return when the API answers and as many workers take work, and every builder that was added."""
        builders = sum(name.startswith("builder") for name in self.keeper.starts)

        def ready() -> bool:
            try:
                answer = httpx.get(f"{self.url}/workers", timeout=5, trust_env=False)
            except httpx.TransportError:
                return False
            slots = answer.json()["data"] if answer.status_code == 200 else []
            roles = Counter(slot["role"] for slot in slots if slot["alive"] and slot["state"] == "ready")
            return roles["grader"] >= workers and roles["builder"] >= builders

        wait_for(ready, READY_S, f"the API and {workers} workers", self.tails)

    def tails(self) -> str:
        """The end of every log."""
        return "\n".join(f"== {process.log.name}\n{process.tail()}" for process in self.installed.processes[-12:])

    def logged(self, text: str) -> list[str]:
        """Lines of all logs that hold this text."""
        logs = (process.log.read_text(errors="replace").splitlines() for process in self.installed.processes)
        return [line for lines in logs for line in lines if text in line]


@contextmanager
def stage(kind: str, folder: Path, entry: Sequence[str] = PLAIN, **settings: str) -> Iterator[Stage]:
    """A stage over a `postgres` or `sqlite` database of its own; the caller adds the parts that it needs."""
    with ExitStack() as stack:
        server = stack.enter_context(closing(PostgresServer())) if kind == "postgres" else None
        if server is not None:
            server.start()
        own_broker = stack.enter_context(broker())
        url = make_database(server, folder)
        # read when Celery is first imported, which a doomed part does before the product
        settings = {"REMAP_SIGTERM": "SIGQUIT", **settings}
        settings = {"KERNEL_ENV_SECRET": "a secret of the chaos tests", "KERNEL_ENV_SLOT_LEASE_S": "2", **settings}
        installed = stack.enter_context(installation(url, own_broker, folder, **settings))
        keeper = Keeper()
        if server is not None:
            keeper.add(PostgresPart(server), started=True)
        keeper.add(BrokerPart(own_broker), started=True)
        keeper.watch()
        stack.callback(keeper.stop)
        yield Stage(installed, own_broker, server, keeper, free_port(), entry)


def make_database(server: PostgresServer | None, folder: Path) -> str:
    """The URL of a migrated, empty database."""
    if server is None:
        url = f"sqlite:///{folder / 'chaos.db'}"
    else:
        execute(server.url, "CREATE DATABASE chaos")
        url = server.url.rpartition("/")[0].replace("postgresql://", "postgresql+psycopg://") + "/chaos"
    with closing_database(url) as db:
        upgrade(db)
    return url


@contextmanager
def closing_database(url: str) -> Iterator[Database]:
    db = Database(url)
    yield db
    db.dispose()


def seconds_since(started: float) -> float:
    return round(time.monotonic() - started, 3)
