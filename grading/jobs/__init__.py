"""The only writer of state: every change to an episode, submission, attempt or slot is a function of this package.

Each function is one transaction and touches nothing but the database. Ringing bells and publishing hints comes after
the commit and is the caller's: see `grading.queue` and `grading.events`.
"""

from grading.jobs.batches import BatchItem, CreatedBatch, NewBatch, cancel_batch, create_batch
from grading.jobs.bells import (
    Bell,
    assign_bells,
    bell_for_idle_slot,
    bell_to_pass_on,
    bells_after_claim,
    missing_bells,
    unring,
)
from grading.jobs.builds import load_product, make_ready, prune_products, store_product
from grading.jobs.canaries import note_canary
from grading.jobs.cancel import cancel_episode, cancel_run, cancel_submission
from grading.jobs.claim import Claim, claim
from grading.jobs.episodes import NewEpisode, create_episode
from grading.jobs.finish import finish, finish_fault
from grading.jobs.idempotency import Created, Idempotency
from grading.jobs.leases import hand_back, hand_back_slot, note_phase, renew
from grading.jobs.purge import Purged, purge
from grading.jobs.reap import Reaped, Reaper, take_over
from grading.jobs.regrade import regrade
from grading.jobs.requeue import held_by, requeue
from grading.jobs.slots import (
    SlotIdentity,
    hold,
    let_go,
    note_probe,
    quarantine,
    register_slot,
    release_slot,
    renew_slot,
    set_slot_state,
)
from grading.jobs.submit import NewSubmission, submit

__all__ = [
    "BatchItem",
    "Bell",
    "Claim",
    "Created",
    "CreatedBatch",
    "Idempotency",
    "NewBatch",
    "NewEpisode",
    "NewSubmission",
    "Purged",
    "Reaped",
    "Reaper",
    "SlotIdentity",
    "assign_bells",
    "bell_for_idle_slot",
    "bell_to_pass_on",
    "bells_after_claim",
    "cancel_batch",
    "cancel_episode",
    "cancel_run",
    "cancel_submission",
    "claim",
    "create_batch",
    "create_episode",
    "finish",
    "finish_fault",
    "hand_back",
    "hand_back_slot",
    "held_by",
    "hold",
    "let_go",
    "load_product",
    "make_ready",
    "missing_bells",
    "note_canary",
    "note_phase",
    "note_probe",
    "prune_products",
    "purge",
    "quarantine",
    "register_slot",
    "regrade",
    "release_slot",
    "renew",
    "renew_slot",
    "requeue",
    "set_slot_state",
    "store_product",
    "submit",
    "take_over",
    "unring",
]
