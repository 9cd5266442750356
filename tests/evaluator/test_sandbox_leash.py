"""Whatever a runner does, nothing of it runs once its leash, its warden or its parent's death has had its say."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.sandbox import Hold, Leash
from evaluator.sandbox.cgroup import Cgroup
from evaluator.sandbox.processes import Process
from evaluator.sandbox.scratch import Scratch
from evaluator.sandbox.uids import SlotUid
from tests.evaluator.sandbox_attempts import Attempt
from tests.evaluator.sandbox_levels import LEVELS, Level
from tests.evaluator.sandbox_support import PROJECT, zygote

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="uids and control groups are root's")

MIB = 1024**2
ROOT = next(level for level in LEVELS if level.name == "root")
WITH_DEVICE = next(level for level in LEVELS if level.name == "root-with-device")
LOWEST = next(level for level in LEVELS if level.name == "user-without-namespaces")

BOMB = "import os, threading\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
DAEMON = """
import os, time
if os.fork() == 0:
    try:
        os.setsid()
    except PermissionError:
        pass
    if os.fork() == 0:
        signal = __import__('signal')
        for number in range(1, 32):
            if number not in (9, 19):
                signal.signal(number, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
os.wait()
"""
HOG = "blocks = []\nwhile True:\n    blocks.append(b'x' * (16 << 20))"
DISK = "f = open('fill', 'wb')\nwhile True:\n    f.write(bytes(1 << 20))"


@pytest.fixture
def leash():
    with Leash.take("test", memory_bytes=256 * MIB, processes=64) as held:
        yield held


def wait_until(condition, deadline_s: float = 10.0) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, "not within the deadline"
        time.sleep(0.005)


def grants_of(leash: Leash, level: Level, **grants) -> dict:
    return leash.policy(device=level.grants.get("device", False), **grants).to_json()


@pytest.mark.parametrize("level", [ROOT, WITH_DEVICE], ids=str)
@pytest.mark.parametrize("source", [BOMB, DAEMON], ids=["fork bomb", "daemon"])
def test_nothing_outlives_the_kill(leash: Leash, level: Level, source: str):
    with zygote(level, [Attempt("mischief", source)], grants=grants_of(leash, level), linger=True) as running:
        leash.attach(running.pid)
        running.next_line()
        wait_until(lambda: len(leash.hold.remaining()) > (50 if source is BOMB else 1))
        hold = leash.hold
        assert len(hold.remaining()) <= 64
        leash.kill()
        assert not hold.remaining()


@pytest.mark.parametrize("level", [ROOT, WITH_DEVICE], ids=str)
def test_a_daemon_that_its_runner_left_behind_is_killed(leash: Leash, level: Level):
    with zygote(level, [Attempt("daemon", DAEMON)], grants=grants_of(leash, level)) as running:
        leash.attach(running.pid)
        hold = leash.hold
        while "status" not in running.next_line():
            pass
        # a PID namespace ends with its first process; without one the daemon lives until it is killed
        assert bool(hold.remaining()) == (level is WITH_DEVICE)
        leash.kill()
        assert not hold.remaining()


def test_memory_and_disk_are_bounded_and_the_reason_is_known(leash: Leash):
    with zygote(ROOT, [Attempt("disk", DISK)], grants=grants_of(leash, ROOT, scratch_bytes=8 * MIB)) as running:
        leash.attach(running.pid)
        running.next_line()
        assert "No space left" in running.next_line()["outcome"]
    leash.kill()
    assert not leash.out_of_memory()
    with zygote(ROOT, [Attempt("hog", HOG)], grants=grants_of(leash, ROOT)) as running:
        leash.attach(running.pid)
        running.next_line()
        assert running.next_line() == {"status": -signal.SIGKILL}
        assert leash.out_of_memory()


def busy_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.parametrize("level", [ROOT, LOWEST], ids=str)
def test_a_frozen_runner_stands_still_and_can_be_killed(leash: Leash, level: Level):
    grants = grants_of(leash, level) if level is ROOT else {"fallback_scratch": "/tmp"}
    if level is not ROOT:
        leash = Leash(Scratch.take("test"), None, None, {})
    spin = Attempt("spin", "import os\nos.fork()\nwhile True: pass")
    with zygote(level, [spin], grants=grants) as running:
        leash.attach(running.pid)
        running.next_line()
        wait_until(lambda: len(leash.hold.remaining()) == 2)
        pids = [process.pid for process in leash.hold.remaining()]
        leash.freeze()
        before = [busy_ticks(pid) for pid in pids]
        time.sleep(0.1)
        assert [busy_ticks(pid) for pid in pids] == before
        leash.thaw()
        wait_until(lambda: [busy_ticks(pid) for pid in pids] != before)
        leash.freeze()
        hold = leash.hold
        leash.kill()
        assert not hold.remaining()
    if level is not ROOT:
        leash.close()


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_a_runner_dies_with_its_parent(level: Level):
    sleep = Attempt("sleep", "import os, time; time.sleep(600)")
    with zygote(level, [sleep], grants={"fallback_scratch": "/tmp"}) as running:
        running.next_line()
        hold = Hold(leader_pid=running.pid, leader_started=Process.read(running.pid).started)
        assert hold.remaining()
        running.process.kill()
        wait_until(lambda: not hold.remaining())


JUDGE = """
import json, sys
sys.path.insert(0, {project!r})
from tests.evaluator.sandbox_attempts import Attempt
from tests.evaluator.sandbox_levels import LEVELS
from tests.evaluator.sandbox_support import zygote
from evaluator.sandbox import Leash, Warden
warden = Warden.start()
leash = Leash.take("judge", memory_bytes=1 << 28, processes=64)
level = next(level for level in LEVELS if level.name == "root-with-device")
with zygote(level, [Attempt("daemon", {daemon!r})], grants=leash.policy(device=True).to_json(), linger=True) as running:
    leash.attach(running.pid)
    warden.watch(leash.hold)
    running.outcomes(0), running.next_line(), running.next_line()
    print(json.dumps(leash.hold.to_json()), flush=True)
    sys.stdin.read()
"""


def test_the_warden_kills_what_a_killed_judge_leaves(tmp_path):
    script = JUDGE.format(project=str(PROJECT), daemon=DAEMON)
    judge = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    hold = Hold.from_json(json.loads(judge.stdout.readline()))
    assert len(hold.remaining()) == 2
    judge.kill()
    judge.communicate()
    wait_until(lambda: not hold.remaining())

    assert Path(hold.cgroup_core).is_dir(), "killed, the judge could not remove its group"
    Cgroup.create("next", memory_bytes=MIB, processes=1).remove()
    assert not Path(hold.cgroup_core).exists()


def test_a_scratch_is_emptied_between_runners_and_one_left_by_a_crash_is_removed():
    taking = "from evaluator.sandbox.scratch import Scratch; print(Scratch.take('crashed').path)"
    stale = Path(
        subprocess.run([sys.executable, "-c", taking], capture_output=True, text=True, check=True).stdout.strip()
    )
    with Leash.take("test", memory_bytes=MIB) as leash:
        assert stale.exists(), "young enough to be just in the making"
        scratch = Path(leash.policy().fallback_scratch)
        (scratch / "file").write_text("x")
        (scratch / "folder").mkdir()
        (scratch / "link").symlink_to("/etc")
        os.chown(scratch, 60999, 60999)
        assert not list(Path(leash.policy().fallback_scratch).iterdir())
        os.utime(stale, (0, 0))
        Scratch.take("next").remove()
        assert not stale.exists()
        assert scratch.exists()
    assert not scratch.exists()


def test_slots_never_share_a_uid_and_a_crash_frees_it():
    first, second = SlotUid.take(), SlotUid.take()
    assert first.uid != second.uid
    taking = "from evaluator.sandbox.uids import SlotUid; print(SlotUid.take().uid)"
    other = int(subprocess.run([sys.executable, "-c", taking], capture_output=True, check=True).stdout)
    assert other not in (first.uid, second.uid)
    third = SlotUid.take()
    assert third.uid <= other
    for slot in (first, second, third):
        slot.release()


def test_strays_of_a_subreaper_are_found_where_nothing_else_holds_them():
    adopter = (
        "import ctypes, subprocess, sys, time; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
        "subprocess.run(['sh', '-c', 'setsid sleep 600 & setsid sleep 601 &'])\n"
        "print('ready', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", adopter], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        hold = Hold()
        wait_until(lambda: len({p.group for p in hold.remaining(subreaper=process.pid)} - {os.getpgrp()}) == 2)
        spared = hold.remaining(subreaper=process.pid)[0].group
        hold.kill(subreaper=process.pid, spare=[spared])
        assert [stray.group for stray in hold.remaining(subreaper=process.pid)] == [spared]
        hold.kill(subreaper=process.pid)
        assert not hold.remaining(subreaper=process.pid)
        process.kill()
