"""`python -m workers.builder [NUMBER]`: compile CUDA sources for the GPUs' workers until told to stop."""

import argparse
import sys
import threading

from structlog import get_logger

from evaluator.builder import patience_s, prepare_headers
from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault
from evaluator.sandbox import protect_from_same_user
from grading.logs import set_up
from grading.settings import SettingsError, load
from workers.devices import builder
from workers.runtime import prepare
from workers.serving import serve, take_over, take_slot

log = get_logger(__name__)

EX_CONFIG = 78


def main() -> int:
    """Exit code 78 for a setting that must be put right first."""
    parser = argparse.ArgumentParser(prog="python -m workers.builder", description=__doc__)
    parser.add_argument("number", nargs="?", type=int, default=0, help="among the builders of this host")
    number = parser.parse_args().number
    protect_from_same_user()  # as in `workers.__main__`
    try:
        settings = load()
    except SettingsError as error:
        print(error, file=sys.stderr)
        return EX_CONFIG
    here = prepare(settings, builder(settings, number))
    set_up(settings)
    take_slot(here)
    take_over(here)
    if here.config.kind == "gpu":
        threading.Thread(target=warm_up, args=(here.config,), name="headers", daemon=True).start()
    return serve(here, task_s=patience_s(here.config))


def warm_up(config: EvaluatorConfig) -> None:
    """Precompile headers beside the first builds, which do without them."""
    try:
        prepare_headers(config)
    except GraderFault as fault:
        log.warning("headers_not_prepared", code=fault.code, detail=fault.detail[:500])


if __name__ == "__main__":
    sys.exit(main())
