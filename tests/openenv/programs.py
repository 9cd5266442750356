"""What released clients do in the tests; runs where a release of OpenEnv is installed: NAME URL ARGUMENTS."""

import asyncio
import contextlib
import json
import sys
from typing import Any

from kernel_grader_client import KernelGrader
from kernel_grader_openenv import KernelAction, KernelEnv, StaleAnswer
from openenv.core import GenericEnvClient

TASK = "level1/19_ReLU"


def row(result: Any) -> dict[str, Any]:
    seen = result.observation
    seen = seen if isinstance(seen, dict) else seen.model_dump()
    return {**seen, "reward": result.reward, "done": result.done}


async def finished(env: Any, action: Any) -> dict[str, Any]:
    """Send it until it is graded, as the manual says."""
    while True:
        told = row(await env.step(action))
        if told["outcome"] not in ("running", "busy", "unavailable"):
            return told


def until_graded(episode_id: str) -> None:
    """Return once the newest submission of an episode has ended."""
    with KernelGrader() as grader:
        grader.wait(next(iter(grader.submissions(episode_id=episode_id))))


async def plain(url: str, codes: list[str], **reset: Any) -> list[Any]:
    """One episode; its reset, its steps and its state."""
    async with GenericEnvClient(base_url=url) as env:
        told = [row(await env.reset(**{"task_id": TASK, **reset}))]
        told += [row(await env.step({"code": code})) for code in codes]
        return [*told, await env.state()]


async def parallel(url: str, episodes: list[list[str]]) -> list[Any]:
    return list(await asyncio.gather(*(plain(url, codes) for codes in episodes)))


async def typed(url: str, code: str) -> Any:
    async with KernelEnv(base_url=url) as env:
        begun = await env.reset(seed=3, split="train", language="triton")
        stepped = await env.step(KernelAction(code=code, turn=1))
        again = await env.step(KernelAction(code=code, turn=1))
        state = await env.state()
        return [row(begun), row(stepped), row(again), state.model_dump()]


async def after_timeout(url: str, first: str, second: str, timeout_s: float, graded: bool) -> dict[str, Any]:
    """Give up on a source, then send another; what is heard for that one, and the state afterwards.

    With `graded` the verdict on the first, which nobody waits for, is there before the second is sent.
    """
    env = GenericEnvClient(base_url=url, message_timeout_s=timeout_s)
    await env.connect()
    begun = row(await env.reset(task_id=TASK))
    try:
        await env.step({"code": first})
        raise AssertionError("no time-out")
    except TimeoutError:
        if graded:
            await asyncio.to_thread(until_graded, begun["episode_id"])
            await asyncio.sleep(1.0)  # for the answer to arrive, if one is sent
    env._message_timeout = 60.0  # from here on it has patience
    with contextlib.suppress(RuntimeError):  # openenv 0.10 has hung up, and finds a new session without an episode
        told = await finished(env, {"code": second})
        return {"told": told, "state": await env.state(), "resumed": False}
    await env.reset(episode_id=begun["episode_id"])
    told = await finished(env, {"code": second})
    return {"told": told, "state": await env.state(), "resumed": True}


async def declared(url: str, first: str, second: str) -> list[Any]:
    """A short time-out that the environment was told of: no time-out happens, and everything is heard in order."""
    async with GenericEnvClient(base_url=url, message_timeout_s=20.0) as env:
        await env.reset(task_id=TASK, answer_s=1.0)
        told = [row(await env.step({"code": first})), row(await env.step({"code": second}))]
        told += [await finished(env, {"code": first}), await finished(env, {"code": second})]
        return [*told, await env.state()]


async def stale(url: str, first: str, second: str) -> str:
    """What the typed client makes of another source's answer, as servers without a door like this one send it."""
    env = KernelEnv(base_url=url)
    await env.connect()
    await env.reset(task_id=TASK)
    answer = await env.step(KernelAction(code=first))
    env._step_payload(KernelAction(code=second))
    payload = {"observation": answer.observation.model_dump(), "reward": answer.reward, "done": False}
    try:
        return str(env._parse_result(payload))
    except StaleAnswer as error:
        return str(error)
    finally:
        await env.close()


async def lost(url: str, code: str) -> list[Any]:
    """A connection that breaks while a source is graded; what a new one hears of it."""
    env = GenericEnvClient(base_url=url)
    await env.connect()
    begun = row(await env.reset(task_id=TASK))
    stepping = asyncio.ensure_future(env.step({"code": code}))
    await asyncio.sleep(2.0)
    env._ws.transport.abort()
    with contextlib.suppress(Exception):
        await stepping
    async with GenericEnvClient(base_url=url) as other:
        await other.reset(episode_id=begun["episode_id"])
        return [await finished(other, {"code": code}), await other.state()]


async def not_graded(url: str, code: str, good: str) -> list[Any]:
    """A source whose grade fails for no fault of its own, then a good one for the same turn."""
    async with GenericEnvClient(base_url=url) as env:
        begun = row(await env.reset(task_id=TASK))
        stepping = asyncio.ensure_future(env.step({"code": code}))
        with KernelGrader() as grader:
            while not (sent := list(grader.submissions(episode_id=begun["episode_id"]))):
                await asyncio.sleep(0.1)
            await asyncio.to_thread(grader.cancel, sent[0])
        return [row(await stepping), row(await env.step({"code": good}))]


async def refusals(url: str) -> list[str]:
    """What misuse is told, on one connection that outlives it all."""
    told = []
    async with GenericEnvClient(base_url=url) as env:
        calls = [
            lambda: env.step({"code": "x"}),
            lambda: env.reset(task="level1/19_ReLU"),
            lambda: env.reset(task_id="level9/none"),
            lambda: env.reset(task_id=TASK, language="fortran"),
            lambda: env.reset(task_id=TASK, answer_s=1e9),
            lambda: env.reset(episode_id="ep_none"),
        ]
        for call in calls:
            try:
                await call()
                told.append("nothing")
            except RuntimeError as error:
                told.append(str(error))
        told.append(row(await env.reset(task_id=TASK))["outcome"])
    return told


async def two_sessions(url: str) -> list[str]:
    async with GenericEnvClient(base_url=url) as env:
        told = [row(await env.reset(task_id=TASK))["outcome"]]
        try:
            async with GenericEnvClient(base_url=url) as second:
                told.append(row(await second.reset(task_id=TASK))["outcome"])
        except Exception as error:  # noqa: BLE001 - which one it is differs between the releases
            told.append(f"{type(error).__name__}: {error}")
        told.append(row(await env.reset(task_id=TASK))["outcome"])
        return told


if __name__ == "__main__":
    name, url, given = sys.argv[1:]
    print(json.dumps(asyncio.run(globals()[name](url, **json.loads(given)))))
