"""`python -m launcher`: broker, migrations, API, workers and reaper in one terminal, until Ctrl-C."""

import os
import signal
import sys
from threading import Event

from rich.console import Console

from grading.settings import SettingsError
from launcher import banner
from launcher.broker import BrokerError
from launcher.plan import CannotStart, lock_data_dir, make_plan, read_settings
from launcher.process import adopt_orphans
from launcher.server import StartError, serve

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """Run until told to stop. Returns the exit status; reasons not to start are one sentence each."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    stopping, hurry = Event(), Event()

    def on_signal(number: int, frame: object) -> None:
        (hurry if stopping.is_set() else stopping).set()

    for number in STOP_SIGNALS:
        signal.signal(number, on_signal)
    adopt_orphans()
    try:
        settings, evaluator_why = read_settings(os.environ)
        with lock_data_dir(settings.data_dir):
            plan = make_plan(settings, evaluator_why, os.environ)
            serve(
                plan,
                say=lambda text: console.print(text, markup=False),
                on_ready=lambda: banner.show(console, plan),
                stopping=stopping,
                hurry=hurry,
            )
    except (SettingsError, CannotStart, BrokerError, StartError) as error:
        console.print(str(error), markup=False, style="red")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
