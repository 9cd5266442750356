"""`python -m launcher.workers`: this host's workers, one per GPU, or its builders, until told to stop.

For containers and for further hosts: no API, no broker, no migration. What ends is started again.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from structlog import get_logger

from grading.logs import set_up
from grading.settings import Settings, SettingsError, load
from launcher.commands import REPOSITORY
from launcher.process import Command, adopt_orphans
from launcher.supervisor import Supervisor
from launcher.worker_health import why_not_well

log = get_logger(__name__)

EX_CONFIG = 78
# beyond the drain: the hand-back of what did not end, and the end of the judge
STOP_SLACK_S = 15.0
KINDS = ("graders", "builders")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 78 for a setting that must be put right first; 1 where `--check` finds a slot that is not well."""
    options = parser().parse_args(arguments)
    try:
        settings = load()
    except SettingsError as error:
        print(error, file=sys.stderr)
        return EX_CONFIG
    if options.check:
        reason = why_not_well(settings, builders=options.kind == "builders")
        print(reason or "well")
        return 1 if reason else 0
    commands = commands_for(settings, options.kind)
    if not commands:
        print("KERNEL_ENV_BUILDERS takes at least 1 where builders are to be started.", file=sys.stderr)
        return EX_CONFIG
    set_up(settings)
    supervise(settings, commands, options.log_dir)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m launcher.workers", description=__doc__)
    made.add_argument("kind", nargs="?", choices=KINDS, default="graders", help="default: %(default)s")
    made.add_argument("--log-dir", type=Path, help="a log per process there, instead of this process's own output")
    made.add_argument("--check", action="store_true", help="start nothing; say whether what runs here is well")
    return made


def commands_for(settings: Settings, kind: str) -> list[Command]:
    """One command per GPU of `KERNEL_ENV_GPUS`, or per builder of `KERNEL_ENV_BUILDERS`."""
    # hidden seeds are derived by the API alone; an empty variable counts as unset
    env = {"KERNEL_ENV_SECRET": ""}
    if kind == "builders":
        builder = [sys.executable, "-m", "workers.builder"]
        return [Command(f"builder-{n}", [*builder, str(n)], env) for n in range(settings.builders)]
    return [Command(f"worker-{n}", [sys.executable, "-m", "workers", str(n)], env) for n in settings.gpus]


def supervise(settings: Settings, commands: Sequence[Command], log_dir: Path | None) -> None:
    """Run the commands until SIGTERM or SIGINT, then let grades end or be handed back; a second signal kills."""
    stopping, hurry = Event(), Event()

    def on_signal(number: int, frame: object) -> None:
        (hurry if stopping.is_set() else stopping).set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    adopt_orphans()
    if log_dir is not None:
        log_dir.mkdir(parents=True, exist_ok=True)
    supervisor = Supervisor(
        log_dir, cwd=REPOSITORY, say=lambda text: log.warning("supervisor", detail=text), stopping=stopping
    )
    try:
        for command in commands:
            log.info("starting", process=command.name, supervisor=os.getpid())
            supervisor.start(command)
        supervisor.run()
        log.info("stopping", grace_s=settings.leases.drain_s + STOP_SLACK_S)
    finally:
        supervisor.stop(settings.leases.drain_s + STOP_SLACK_S, hurry, needed_to_the_end=0)
    log.info("stopped")


if __name__ == "__main__":
    sys.exit(main())
