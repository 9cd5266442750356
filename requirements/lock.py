"""`make lock`: the installed versions, in two files: what `train` alone needs, and everything else."""

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).parent
ROOT = "kernel-grader"
BESIDE = ("kernel-grader-client",)  # installed with it


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(extras: frozenset[str]) -> set[str]:
    """All that is installed for the project with these extras."""
    found: set[str] = set()
    left = [(ROOT, extras), *((name, frozenset[str]()) for name in BESIDE)]
    seen = set()
    while left:
        name, wanted = left.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        found.add(name)
        try:
            texts = requires(name) or []
        except PackageNotFoundError:  # for another platform, or optional
            continue
        for text in texts:
            one = Requirement(text)
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in wanted or {""}):
                left.append((normal(one.name), frozenset(one.extras)))
    return found


def main() -> None:
    command = [sys.executable, "-m", "pip", "freeze", "--exclude-editable"]
    frozen = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [re.sub(r"\+[A-Za-z0-9.]+$", "", line) for line in frozen.splitlines()]
    alone = needed(frozenset({"dev", "train"})) - needed(frozenset({"dev"}))
    for file, mine in (("constraints.txt", False), ("train.txt", True)):
        kept = [line for line in lines if (normal(line.partition("==")[0]) in alone) is mine]
        (HERE / file).write_text("".join(f"{line}\n" for line in kept))


if __name__ == "__main__":
    main()
