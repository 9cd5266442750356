"""A private file system: a read-only root that holds only what is needed, with a tmpfs for the scratch."""

import os
import shutil
import stat
from pathlib import Path
from typing import Final

from evaluator.sandbox import kernel, visible
from evaluator.sandbox.policy import Policy

SCRATCH: Final = "/tmp/scratch"
_STAGING = "/tmp"
_READ_ONLY = kernel.MOUNT_ATTR_RDONLY | kernel.MOUNT_ATTR_NOSUID
_PLAIN = kernel.MS_NOSUID | kernel.MS_NODEV
_DEVICE_LINKS = (
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
)


def enter_private_root(policy: Policy) -> str:
    """Replace the root by one made of read-only clones, in a mount namespace that the caller has just unshared.

    `/proc` stays writable as a mount (cuInit writes its threads' names there); `/dev/shm` stays the machine's where
    the policy grants the device, until `cover_shm`. Returns why `/proc` is the machine's and no instance of its own
    ("" if it is one). Raises OSError with the old root still in place.
    """
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    view, links = visible.machine_view(policy.readable)
    trees = _clone_visible(view, policy)
    kernel.mount("tmpfs", _STAGING, "tmpfs", _PLAIN, "size=1m,mode=0755")
    try:
        shared_proc = _furnish(trees, links, policy)
        os.chdir(_STAGING)
        kernel.pivot_root_here()
    except OSError:
        os.chdir("/")
        kernel.unmount(_STAGING)
        raise
    finally:
        while trees:
            os.close(trees.pop(0)[0])
    return shared_proc


def bring_files(policy: Policy) -> list[tuple[str, bytes]]:
    """Read what the policy brings along, before the place it lies in is out of sight."""
    contents = []
    for name, path in policy.bring:
        if Path(name).name != name:
            raise ValueError(f"bring: a plain file name, not {name!r}")
        with open(path, "rb") as file:
            contents.append((name, file.read()))
    return contents


def cover_shm(policy: Policy) -> None:
    """Hide the machine's `/dev/shm` behind a private tmpfs."""
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", _PLAIN, f"size={policy.shm_bytes},mode=1777")


def empty_folder(path: str) -> None:
    """Make `path` an empty folder, whatever a former user left there."""
    shutil.rmtree(path, ignore_errors=True)
    Path(path).mkdir(mode=0o700, parents=True)


def _clone_visible(view: list[str], policy: Policy) -> list[tuple[int, str]]:
    """Detached clones (fd, path), `/proc` first."""
    sources = [("/proc", kernel.MOUNT_ATTR_NOSUID)]
    sources += [(path, _READ_ONLY) for path in [*view, *visible.device_nodes(gpu=policy.device)]]
    if policy.device and Path("/dev/shm").is_dir():
        sources.append(("/dev/shm", kernel.MOUNT_ATTR_NOSUID))
    trees: list[tuple[int, str]] = []
    try:
        for path, attributes in sources:
            trees.append((kernel.clone_tree(path, attributes=attributes), path))
    except OSError:
        for fd, _ in trees:
            os.close(fd)
        raise
    return trees


def _furnish(trees: list[tuple[int, str]], links: list[tuple[str, str]], policy: Policy) -> str:
    """Build the new root at the staging folder; what is attached leaves `trees`. Returns why /proc is shared, or ""."""
    for name in ("tmp", "dev", "proc"):
        Path(_STAGING, name).mkdir()
    kernel.mount("tmpfs", _STAGING + "/tmp", "tmpfs", _PLAIN, f"size={policy.scratch_bytes},mode=1777")
    Path(_STAGING + SCRATCH).mkdir(0o700)
    while len(trees) > 1:
        fd, path = trees.pop()
        _make_mount_point(Path(_STAGING + path), folder=stat.S_ISDIR(os.fstat(fd).st_mode))
        kernel.attach_tree(fd, _STAGING + path)
    for path, target in [*links, *_DEVICE_LINKS]:
        link = Path(_STAGING + path)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    if not policy.device:
        Path(_STAGING, "dev/shm").mkdir()
        kernel.mount("tmpfs", _STAGING + "/dev/shm", "tmpfs", _PLAIN, f"size={policy.shm_bytes},mode=1777")
    shared_proc = ""
    try:
        kernel.mount("proc", _STAGING + "/proc", "proc", _PLAIN | kernel.MS_NOEXEC, "hidepid=2")
    except OSError as error:
        shared_proc = str(error)
        kernel.attach_tree(trees.pop()[0], _STAGING + "/proc")
    kernel.make_read_only(_STAGING)
    return shared_proc


def _make_mount_point(path: Path, *, folder: bool) -> None:
    if folder:
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
