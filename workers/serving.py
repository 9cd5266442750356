"""A slot's main process from taking the slot to leaving it, whatever the slot does."""

import time
from typing import Any

from celery.signals import worker_ready
from structlog import get_logger

from grading import jobs
from grading.celery_app import slot_queue, task_limits
from grading.errors import FenceLost, SlotTaken
from workers.announce import announce
from workers.celery_worker import SlotWorker
from workers.judge_step import JudgeStep
from workers.keeper import Keeper
from workers.runtime import TRANSIENT, Runtime

log = get_logger(__name__)

RETRY_S = 1.0


def take_slot(here: Runtime) -> None:
    """Wait until the slot is ours: at most one worker serves it, and a dead one's lease runs out."""
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


def serve(here: Runtime, *, task_s: float | None = None) -> int:
    """Run Celery's worker for this slot's queue; returns its exit code.

    `task_s` replaces how long a task may take before its child is taken to be stuck.
    """
    from workers.app import app  # reads the settings

    if task_s is not None:
        app.conf.update(task_limits(task_s))
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
