"""`python -m workers [NUMBER]`: serve one GPU (default: the first of KERNEL_ENV_GPUS) until told to stop."""

import argparse
import sys

from evaluator.sandbox import protect_from_same_user
from grading.logs import set_up
from grading.settings import Settings, SettingsError, load
from workers.devices import DeviceMissing, identity
from workers.evaluators import judge as make_judge
from workers.judge_step import JudgeStep
from workers.runtime import prepare
from workers.serving import serve, take_over, take_slot

EX_CONFIG = 78


def main() -> int:
    """Exit code 78 for a setting or device that must be put right first."""
    protect_from_same_user()  # the environment holds credentials of database and broker; pool children inherit this
    try:
        settings = load()
        here = prepare(settings, identity(settings, number(settings)))
    except (SettingsError, DeviceMissing) as error:
        print(error, file=sys.stderr)
        return EX_CONFIG
    set_up(settings)
    take_slot(here)
    take_over(here)
    JudgeStep.judge = judge = make_judge(here.config)
    if judge is not None:
        judge.start()
    try:
        return serve(here)
    finally:
        if judge is not None:
            judge.close()


def number(settings: Settings) -> int:
    """Which device this process serves."""
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument("number", nargs="?", type=int, default=settings.gpus[0], help="as the driver counts")
    return int(parser.parse_args().number)


if __name__ == "__main__":
    sys.exit(main())
