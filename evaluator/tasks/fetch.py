"""`python -m evaluator.tasks.fetch [DIR]`: KernelBench at the commit that splits and audits were made for."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

URL = "https://github.com/ScalingIntelligence/KernelBench.git"
COMMIT = "423217d9fda91e0c2d67e4a43bf62f96f6d104f1"
FETCH_S = 300.0


class FetchError(Exception):
    """The checkout is not there; the text says why and what else can be done."""


def fetch(folder: Path, url: str = URL, commit: str = COMMIT) -> None:
    """Make `folder` a checkout of exactly that commit; does nothing where it is one. Raises FetchError."""
    if folder.exists() and any(folder.iterdir()):
        if _git(folder, "rev-parse", "HEAD") == commit:
            return
        raise FetchError(f"{folder} holds something else; remove it, or name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _git(folder, "init", "--quiet")
        _git(folder, "fetch", "--quiet", "--depth", "1", url, commit)
        _git(folder, "-c", "advice.detachedHead=false", "checkout", "--quiet", "FETCH_HEAD")
    except FetchError as error:
        shutil.rmtree(folder)
        raise FetchError(
            f"KernelBench could not be fetched: {error}. Where the network does not reach {url}, bring a checkout of "
            f"commit {commit[:12]} from elsewhere and name it in KERNELBENCH_DIR"
        ) from None


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=FETCH_S, check=False
        )
    except FileNotFoundError:
        raise FetchError("there is no git here") from None
    except subprocess.TimeoutExpired:
        raise FetchError(f"git took longer than {FETCH_S:g} s") from None
    if done.returncode:
        raise FetchError((done.stderr.strip().splitlines() or ["git failed"])[-1])
    return done.stdout.strip()


def main() -> int:
    made = argparse.ArgumentParser(prog="python -m evaluator.tasks.fetch", description=__doc__)
    made.add_argument("folder", nargs="?", type=Path, default=Path("KernelBench"))
    options = made.parse_args()
    try:
        fetch(options.folder)
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{options.folder} is KernelBench at {COMMIT[:12]}; serve it with KERNELBENCH_DIR={options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
