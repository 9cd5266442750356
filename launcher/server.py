"""One whole server: starts its parts in order, watches over them, stops them in order."""

import subprocess
import time
from collections.abc import Callable
from threading import Event

import httpx

from launcher import broker, commands
from launcher.plan import Plan
from launcher.process import Child
from launcher.supervisor import Supervisor

READY_TIMEOUT_S = 90.0
STOP_GRACE_S = 50.0


class StartError(Exception):
    """A part of the server did not come up; the text holds the end of its log."""


def serve(
    plan: Plan,
    *,
    say: Callable[[str], None],
    on_ready: Callable[[], None],
    stopping: Event,
    hurry: Event,
) -> None:
    """Run everything until `stopping` is set; `hurry` then kills what has not ended yet.

    Raises StartError or BrokerError, with everything stopped again.
    """
    plan.log_dir.mkdir(parents=True, exist_ok=True)
    supervisor = Supervisor(plan.log_dir, cwd=commands.REPOSITORY, say=say, stopping=stopping)
    try:
        _start(plan, supervisor, stopping)
        if not stopping.is_set():
            on_ready()
            supervisor.run()
        say("Stopping; a running grade is given time to end. Ctrl-C again to stop at once.")
    finally:
        supervisor.stop(STOP_GRACE_S, hurry)
        commands.forget_broker(plan)
    say("Stopped. The data stays where it is.")


def _start(plan: Plan, supervisor: Supervisor, stopping: Event) -> None:
    if plan.broker is not None:
        child = supervisor.start(plan.broker.command())
        broker.wait_until_up(plan.broker, child)
        commands.note_broker(plan)
    _migrate(plan)
    api = supervisor.start(commands.api(plan))
    for command in commands.background(plan):
        supervisor.start(command)
    _wait_for_api(plan, api, stopping)


def _migrate(plan: Plan) -> None:
    command = commands.migrate(plan)
    done = subprocess.run(
        command.argv, cwd=commands.REPOSITORY, env=commands.full_environment(command), capture_output=True, text=True
    )
    if done.returncode != 0:
        raise StartError(f"The database could not be brought up to date:\n{done.stderr.strip()[-4000:]}")


def _wait_for_api(plan: Plan, api: Child, stopping: Event) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_S
    with httpx.Client(base_url=plan.url, timeout=2.0, trust_env=False) as client:
        while not stopping.wait(0.05):
            if api.exit_status() is not None or time.monotonic() > deadline:
                raise StartError(f"The API did not start:\n{api.log_tail()}")
            try:
                if client.get("/healthz").status_code == 200:
                    return
            except httpx.TransportError:
                continue
