"""KernelBench is fetched at one commit, from a repository made here: tests use no network."""

import subprocess
from pathlib import Path

import pytest

from evaluator.tasks.fetch import COMMIT, FetchError, fetch
from launcher.commands import REPOSITORY


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Example", "-c", "user.email=example@example.invalid"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def origin(tmp_path: Path) -> tuple[str, str]:
    """Address and first commit of a repository that has moved on since."""
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    (folder / "task.py").write_text("old\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    first = git(folder, "rev-parse", "HEAD")
    (folder / "task.py").write_text("new\n")
    git(folder, "commit", "--quiet", "-am", "second")
    return folder.as_uri(), first


def test_exactly_that_commit(tmp_path: Path, origin: tuple[str, str]) -> None:
    url, commit = origin
    fetch(tmp_path / "here", url, commit)
    assert (tmp_path / "here" / "task.py").read_text() == "old\n"
    fetch(tmp_path / "here", "file:///nowhere", commit)


@pytest.mark.parametrize(
    ("file", "name"), [("docker/Dockerfile", "ARG KERNELBENCH_COMMIT="), ("modal_app.py", "TASKS_COMMIT = ")]
)
def test_images_are_built_with_the_same_one(file: str, name: str) -> None:
    """They are built where no package of ours is installed yet, so that they name it themselves."""
    (line,) = [line for line in (REPOSITORY / file).read_text().splitlines() if line.startswith(name)]
    assert line.removeprefix(name).strip('"') == COMMIT


def test_nothing_of_anybody_is_overwritten(tmp_path: Path, origin: tuple[str, str]) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FetchError):
        fetch(folder, *origin)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_without_a_network_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="KERNELBENCH_DIR"):
        fetch(tmp_path / "here", (tmp_path / "absent").as_uri())
    assert not (tmp_path / "here").exists()
