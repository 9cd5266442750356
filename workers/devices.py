"""What a slot is called: by its device, so that the name outlives worker, container and host name."""

import re
import subprocess
import uuid
from dataclasses import dataclass

from grading.celery_app import COMPILE_QUEUE
from grading.jobs import SlotIdentity
from grading.settings import Settings
from grading.states import SlotRole

QUERY_TIMEOUT_S = 30.0
# marketing words that do not tell one kind of GPU from another
NOISE = re.compile(r"\b(nvidia|geforce|quadro|tesla|graphics|gpu)\b", re.IGNORECASE)


class DeviceMissing(Exception):
    """The driver does not know the GPU that a slot was to serve."""


@dataclass(frozen=True)
class Device:
    """`uuid` names the device everywhere; `kind` is what a submission may ask for, such as `h200`."""

    uuid: str
    kind: str


def identity(settings: Settings, number: int) -> SlotIdentity:
    """The slot for device `number` on this host, in a new incarnation. Raises DeviceMissing."""
    host = slug(settings.host)
    device = gpu(number) if settings.evaluator == "gpu" else virtual(settings.evaluator, host, number)
    return SlotIdentity(
        slot_id=device.uuid,
        incarnation=uuid.uuid4().hex,
        kind=device.kind,
        evaluator=settings.evaluator,
        host=settings.host,
        number=number,
        queue=f"gpu.{device.kind}.{host}.{number}",
        lanes=settings.lanes,
    )


def builder(settings: Settings, number: int) -> SlotIdentity:
    """The slot of this host's builder of that number, in a new incarnation."""
    return SlotIdentity(
        slot_id=f"builder-{slug(settings.host)}-{number}",
        incarnation=uuid.uuid4().hex,
        kind="builder",
        evaluator=settings.evaluator,
        host=settings.host,
        number=number,
        queue=COMPILE_QUEUE,
        role=SlotRole.BUILDER,
    )


def virtual(evaluator: str, host: str, number: int) -> Device:
    """The device of an evaluator that needs no GPU: there may be as many as the operator asks for."""
    return Device(f"{evaluator}-{host}-{number}", evaluator)


def gpu(number: int) -> Device:
    """GPU `number` as the driver counts. Asks nvidia-smi, so that no CUDA context is made here."""
    command = ["nvidia-smi", f"--id={number}", "--query-gpu=uuid,name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=QUERY_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceMissing(f"nvidia-smi does not find GPU {number}: {error}") from error
    found, _, name = answer.stdout.strip().partition(",")
    if not found.startswith("GPU-"):
        raise DeviceMissing(f"nvidia-smi does not find GPU {number}: {answer.stdout.strip()}")
    return Device(found.strip(), kind_of(name))


def kind_of(name: str) -> str:
    """`NVIDIA A100-SXM4-80GB` -> `a100-sxm4-80gb`: the model as the driver names it, without the maker."""
    return slug(NOISE.sub(" ", name))


def slug(name: str) -> str:
    """A name that is safe inside a queue's name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"
