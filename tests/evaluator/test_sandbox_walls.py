"""At every privilege level: which walls stand, what a hostile candidate is refused, what an honest one still can do."""

import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from evaluator.sandbox import WALLS, Isolation
from tests.evaluator.sandbox_attempts import ALLOWED, REFUSED, Attempt
from tests.evaluator.sandbox_levels import LEVELS, PLAIN_UID, Level
from tests.evaluator.sandbox_support import zygote

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="lower levels can only be produced from root")


@pytest.fixture
def facts(tmp_path_factory, request):
    """Things to be stolen or reached, in a folder that everybody may enter."""
    folder = tmp_path_factory.mktemp("loot")
    temporary = Path(tempfile.gettempdir())
    for parent in [folder, *(parent for parent in folder.parents if temporary in parent.parents)]:
        parent.chmod(parent.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    secret, private = folder / "secret", folder / "private"
    secret.write_text("s3cret")
    private.write_text("s3cret")
    private.chmod(0o600)
    abstract, unix = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0kernel-grader-test-{os.getpid()}")
    unix.bind(str(folder / "socket"))
    (folder / "socket").chmod(0o777)
    abstract.listen()
    unix.listen()
    scratch = folder / "scratch"
    scratch.mkdir()
    yield {
        "SECRET_FILE": str(secret),
        "PRIVATE_FILE": str(private),
        "ABSTRACT_SOCKET": f"\0kernel-grader-test-{os.getpid()}",
        "UNIX_SOCKET": str(folder / "socket"),
        "scratch": str(scratch),
    }
    abstract.close()
    unix.close()


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_walls_attempts_and_needs(level: Level, facts):
    scratch = Path(facts.pop("scratch"))
    os.chown(scratch, *((0, 0) if "uid" in level.grants else (PLAIN_UID, PLAIN_UID)))
    grants = {"fallback_scratch": str(scratch)}
    with zygote(level, [*REFUSED, *ALLOWED], grants=grants, facts=facts) as running:
        isolation = Isolation.from_json(running.next_line()["isolation"])
        outcomes = running.outcomes(len(REFUSED) + len(ALLOWED))
        assert running.next_line() == {"status": 0}

    assert set(isolation.missing(WALLS)) == level.walls_missing, isolation.to_json()
    done = [a.name for a in REFUSED if outcomes[a.name].startswith("done") and level.name not in a.allowed_at]
    assert not done, {name: outcomes[name] for name in done}
    broken = {a.name: outcomes[a.name] for a in ALLOWED if not outcomes[a.name].startswith("done")}
    assert not broken


TRITON = """
import importlib, pathlib, sys
pathlib.Path('kernels.py').write_text(SOURCE)
sys.path.insert(0, SCRATCH)
importlib.import_module('kernels').check()
"""
KERNELS = """
import torch, triton, triton.language as tl

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

def check():
    x = torch.arange(1000.)
    y = torch.empty_like(x)
    double[(4,)](x, y, 1000, BLOCK=256)
    assert torch.equal(y, x * 2)
    assert torch.equal(torch.mm(torch.ones(200, 200), torch.ones(200, 200)), torch.full((200, 200), 200.0))
"""


def test_triton_and_torch_work_in_a_fork_that_inherits_them():
    root = next(level for level in LEVELS if level.name == "root")
    attempt = Attempt("triton", TRITON)
    with zygote(root, [attempt], facts={"SOURCE": KERNELS}, preload=["torch", "triton"], interpret=True) as running:
        running.next_line()
        assert running.next_line()["outcome"] == "done: None"
