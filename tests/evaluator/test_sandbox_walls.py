"""At every privilege level: which walls stand, what a hostile candidate is refused, what an honest one still can do."""

import os
import socket
import stat
from pathlib import Path

import pytest

from evaluator.sandbox import WALLS, Isolation
from tests.evaluator.sandbox_attempts import ALLOWED, REFUSED
from tests.evaluator.sandbox_levels import LEVELS, PLAIN_UID, Level
from tests.evaluator.sandbox_support import zygote

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="lower levels can only be produced from root")


@pytest.fixture
def facts(tmp_path_factory, request):
    """Things to be stolen or reached, in a folder that everybody may enter."""
    folder = tmp_path_factory.mktemp("loot")
    for parent in [folder, *folder.parents][:3]:
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
