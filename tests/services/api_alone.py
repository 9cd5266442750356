"""The API of an installation by itself: whoever tests it is its worker."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
from sqlalchemy import select

from evaluator.verdicts import Verdict
from grading import jobs
from grading.events import Publisher
from grading.jobs import Claim
from grading.models import IS_WAITING, Slot, Submission
from launcher.ports import free_port
from tests.conftest import empty
from tests.grading.support import LEASES, claim, open_slot, report
from tests.services.broker import Broker
from tests.services.installation import Installation, Process, installation, wait_for

GUNICORN = ["-m", "gunicorn", "-c", "python:app.gunicorn_conf", "app.wsgi:app"]
START_S = 60.0
TIMEOUT_S = 90.0


def url(here: Installation) -> str:
    return f"http://127.0.0.1:{here.settings.port}"


def start_api(here: Installation) -> Process:
    """A new API on the installation's port, which has answered once."""
    process = here.start(GUNICORN, "api", {})

    def up() -> bool:
        try:
            return httpx.get(f"{url(here)}/healthz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    wait_for(up, START_S, "the API", process.tail)
    return process


def end_api(api: Process, how: signal.Signals) -> None:
    """Ask the main process to end, or kill all of them, and wait until they are gone."""
    family = [psutil.Process(api.pid), *psutil.Process(api.pid).children()]
    for process in family if how is signal.SIGKILL else family[:1]:
        process.send_signal(how)
    psutil.wait_procs(family, timeout=30)


@dataclass
class Alone:
    """A running API, a client of it, and one slot, which takes work only when told to."""

    here: Installation
    process: Process
    api: httpx.Client
    slot: Slot

    def take(self) -> Claim | None:
        """Claim what is next."""
        return claim(self.here.db, self.slot)

    def settle(self) -> None:
        """Wait until everything has been rung for: a row that is just being rung for is passed over by a claim."""
        fits = Submission.gpu_kind.is_(None) | (Submission.gpu_kind == self.slot.kind)
        unrung = select(Submission.id).where(IS_WAITING, Submission.queue.is_(None), fits).limit(1)

        def all_rung() -> bool:
            with self.here.db.read() as session:
                return session.scalar(unrung) is None

        wait_for(all_rung, 30, "everything to be rung for")

    def grade(self, verdict: Verdict = Verdict.CORRECT) -> str:
        """Grade what is next, and tell those who wait for it; its id."""
        taken = self.take()
        assert taken is not None
        ended = jobs.finish(self.here.db, taken.submission_id, taken.fence, report(verdict))
        Publisher(self.here.settings.redis_url).ended(ended.submission)
        return taken.submission_id

    def grade_all(self) -> list[str]:
        """Grade until nothing is left; the ids in the order in which they were taken."""
        self.settle()
        order = []
        while (taken := self.take()) is not None:
            jobs.finish(self.here.db, taken.submission_id, taken.fence, report())
            order.append(taken.submission_id)
        return order

    def restart(self, how: signal.Signals) -> None:
        end_api(self.process, how)
        self.process = start_api(self.here)


@contextmanager
def alone(postgres_url: str, broker: Broker, folder: Path, **settings: str) -> Iterator[Alone]:
    """An API over an emptied database, without any worker."""
    empty(postgres_url)
    with installation(postgres_url, broker, folder, PORT=str(free_port()), **settings) as here:
        process = start_api(here)
        with httpx.Client(base_url=url(here), timeout=TIMEOUT_S, trust_env=False) as api:
            yield Alone(here, process, api, open_slot(here.db))


__all__ = ["LEASES", "Alone", "alone", "end_api", "start_api", "url"]
