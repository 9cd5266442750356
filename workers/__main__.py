"""`python -m workers [NUMBER]`: serve one GPU (default: the first of KERNEL_ENV_GPUS) until told to stop."""

import argparse
import sys
import time
from typing import Any

from celery.signals import worker_ready
from structlog import get_logger

from evaluator.sandbox import protect_from_same_user
from grading import jobs
from grading.celery_app import slot_queue
from grading.errors import FenceLost, SlotTaken
from grading.logs import set_up
from grading.settings import Settings, SettingsError, load
from workers.announce import announce
from workers.celery_worker import SlotWorker
from workers.devices import DeviceMissing, identity
from workers.evaluators import judge as make_judge
from workers.judge_step import JudgeStep
from workers.keeper import Keeper
from workers.runtime import TRANSIENT, Runtime, prepare

log = get_logger(__name__)

EX_CONFIG = 78
RETRY_S = 1.0


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


def take_slot(here: Runtime) -> None:
    """Wait until the slot is ours: at most one worker serves a device, and a dead one's lease runs out."""
    waiting = False
    while True:
        try:
            jobs.register_slot(here.db, here.slot, here.settings.leases)
            log.info("slot_taken", slot=here.slot.slot_id, queue=here.slot.queue)
            return
        except SlotTaken as error:
            if not waiting:
                log.warning("slot_busy", detail=error.detail)
            waiting = True
        except TRANSIENT as error:
            log.warning("slot_without_database", error=repr(error))
        time.sleep(RETRY_S)


def take_over(here: Runtime) -> None:
    """Send back to wait what an earlier worker of this slot was grading when it was lost."""
    slot = here.slot
    try:
        done = jobs.take_over(here.db, slot.slot_id, slot.incarnation, here.settings.leases)
        announce(done, here.publisher, here.evaluations)
        here.ringer.ring_for(done.returned)
    except TRANSIENT as error:
        log.warning("slot_not_taken_over", error=repr(error))  # the leases of what it held run out


def serve(here: Runtime) -> int:
    """Run Celery's worker for this slot's queue; returns its exit code."""
    from workers.app import app

    app.conf.task_queues = [slot_queue(here.slot.queue)]
    app.steps["worker"].add(JudgeStep)
    keeper = Keeper(here)
    SlotWorker.here, SlotWorker.keeper = here, keeper

    @worker_ready.connect(weak=False)  # type: ignore[untyped-decorator]
    def ready(**_: Any) -> None:
        keeper.start()

    worker = SlotWorker(
        app=app,
        hostname=f"{here.slot.kind}-{here.slot.number}@{here.slot.host}",
        queues=[here.slot.queue],
        pool="prefork",
        concurrency=here.slot.lanes,
        loglevel=here.settings.log_level.upper(),
        without_gossip=True,
        without_mingle=True,
        quiet=True,
    )
    worker.start()
    keeper.stop()
    leave(here)
    return int(worker.exitcode or 0)


def leave(here: Runtime) -> None:
    """Hand back what a killed child still held, and free the slot for the next worker."""
    slot = here.slot
    try:
        returned = jobs.hand_back_slot(here.db, slot.slot_id, slot.incarnation)
        jobs.release_slot(here.db, slot.slot_id, slot.incarnation)
        for row in returned:
            here.evaluations.lifecycle("handed_back", row)
        if returned:
            here.ringer.ring_for([row.id for row in returned])
    except (*TRANSIENT, FenceLost) as error:
        log.warning("slot_not_released", error=repr(error))


if __name__ == "__main__":
    sys.exit(main())
