"""The privilege levels that the sandbox must work at, each as a command that starts its argument so."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: An ordinary user of the machine; no passwd entry is needed.
PLAIN_UID = 61190


def _python_for_everybody() -> tuple[str, ...]:
    """Where interpreter or checkout lie in root's home, show the rest a world in which others can reach them."""
    home, hidden = Path("/root"), []
    for path in (sys.base_prefix, sys.prefix, str(Path(__file__).parents[2])):
        if Path(path).is_relative_to(home) and not any(Path(path).is_relative_to(known) for known in hidden):
            hidden.append(path)
    if not hidden:
        return ()
    stage = "/mnt"
    before = "mount -t tmpfs tmpfs /mnt;" + "".join(
        f"mkdir -p {stage}{path}; mount --bind {path} {stage}{path};" for path in hidden
    )
    after = "".join(f"mkdir -p {path}; mount --move {stage}{path} {path};" for path in hidden)
    script = f'set -e; {before} mount -t tmpfs -o mode=755 tmpfs {home}; {after} exec "$@"'
    return ("unshare", "--mount", "sh", "-c", script, "sh")


_EVERYBODY = _python_for_everybody()
_PLAIN = (*_EVERYBODY, "setpriv", f"--reuid={PLAIN_UID}", f"--regid={PLAIN_UID}", "--clear-groups", "--inh-caps=-all")
_NO_MORE_NAMESPACES = (
    'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"'
)


@dataclass(frozen=True)
class Level:
    """`walls_missing` are those that cannot be had at this level; all others must be in force."""

    name: str
    prefix: tuple[str, ...]
    grants: dict[str, Any]
    walls_missing: frozenset[str]
    pid_namespace: bool = True

    def __str__(self) -> str:
        return self.name


_OWN_UID = {"uid": 60999, "gid": 60999}
_NO_NAMESPACE = frozenset({"filesystem", "network", "ipc", "pid_namespace", "proc", "shm", "scratch"})
_NO_CGROUP = frozenset({"cgroup"})

LEVELS = (
    Level("root", (), _OWN_UID, _NO_CGROUP),
    Level("root-with-device", (), {**_OWN_UID, "device": True}, _NO_CGROUP | {"pid_namespace", "memory"}, False),
    Level(
        "root-in-a-plain-container",
        (*_EVERYBODY, "setpriv", "--bounding-set=-sys_admin"),
        _OWN_UID,
        _NO_CGROUP | _NO_NAMESPACE,
    ),
    Level("user", _PLAIN, {}, _NO_CGROUP | {"uid", "pid_namespace", "proc"}),
    Level(
        "user-without-namespaces",
        (*_PLAIN, "unshare", "--user", f"--map-user={PLAIN_UID}", f"--map-group={PLAIN_UID}", "--keep-caps",
         "sh", "-c", _NO_MORE_NAMESPACES, "sh"),
        {},
        _NO_CGROUP | _NO_NAMESPACE | {"uid"},
    ),
)  # fmt: skip
