"""`make demo`: one episode from prompt to reward, against a running server or one of its own.

A server that asks for a key gets the one in KERNEL_GRADER_KEY.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console

from launcher.commands import REPOSITORY
from launcher.demo_server import OwnServer, OwnServerError
from launcher.demo_view import show_end, show_problem, show_turn

TASK = "level1/19_ReLU"
KERNELS = (("a wrong kernel", "relu_identity.py"), ("a right one", "relu.py"))
EXAMPLES = REPOSITORY / "examples"
WAIT_S = 60


class DemoError(Exception):
    """The server answered something else than expected."""


def call(client: httpx.Client, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """One request. Raises DemoError with the server's own words where it refuses."""
    response = client.request(method, path, json=body)
    answer: dict[str, Any] = response.json()
    if response.is_error:
        raise DemoError(f"{method} {path}: {response.status_code}, {answer.get('detail', response.text)}")
    return answer


def grade(client: httpx.Client, episode_id: str, source: str) -> dict[str, Any]:
    """Submit and wait until it has ended, however long that takes."""
    submission = call(client, "POST", f"/submissions?wait={WAIT_S}", {"episode_id": episode_id, "code": source})
    while submission["status"] in ("queued", "compiling", "ready", "running"):
        submission = call(client, "GET", f"/submissions/{submission['id']}?wait={WAIT_S}")
    return submission


@contextmanager
def server(console: Console) -> Iterator[str]:
    """The URL of the server that listens on PORT, or of one that lives as long as the block."""
    url = f"http://127.0.0.1:{os.environ.get('PORT') or 8000}"
    if is_ours(url):
        console.print(f"Using the server at {url}.")
        yield url
        return
    console.print("No server is running; starting one with a data directory of its own ...")
    with OwnServer() as own:
        yield own.url


def is_ours(url: str) -> bool:
    """Whether a Kernel Grader answers there."""
    try:
        response = httpx.get(f"{url}/healthz", timeout=2.0, trust_env=False)
    except httpx.TransportError:
        return False
    return response.status_code == 200 and "API-Version" in response.headers


def connect(url: str) -> httpx.Client:
    """A client with the key of the environment, if there is one."""
    key = os.environ.get("KERNEL_GRADER_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(base_url=url, headers=headers, timeout=WAIT_S + 15, trust_env=False)


def play(console: Console, url: str) -> bool:
    """Run the episode; whether both turns ended as they should."""
    with connect(url) as client:
        episode = call(client, "POST", "/episodes", {"task_id": TASK, "max_turns": len(KERNELS)})
        show_problem(console, episode)
        verdicts = []
        for number, (what, file) in enumerate(KERNELS, start=1):
            source = Path(EXAMPLES, file).read_text()
            with console.status(f"Turn {number}: grading {what} ..."):
                submission = grade(client, episode["id"], source)
            show_turn(console, number, what, source, submission)
            verdicts.append(submission["verdict"])
        show_end(console, call(client, "GET", f"/episodes/{episode['id']}"))
    return verdicts == ["incorrect", "correct"]


def main() -> int:
    """Exit status 0 where the wrong kernel was found wrong and the right one right."""
    console = Console(highlight=False)
    try:
        with server(console) as url:
            return 0 if play(console, url) else 1
    except (DemoError, OwnServerError, httpx.TransportError) as error:
        console.print(f"The demo stopped: {error}", markup=False, style="red")
        return 1


if __name__ == "__main__":
    sys.exit(main())
