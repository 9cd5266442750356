"""More programs, on what lies between door and grader or between door and client."""

import asyncio
import time
from typing import Any

from kernel_grader_client import KernelGrader
from kernel_grader_openenv.knocking import EXTENSION, NobodyListens
from kernel_grader_openenv.one_answer import TRY_AGAIN_LATER, OneAnswer
from openenv.core import GenericEnvClient


class Line:
    """A TCP connection to the grader that can be cut and mended."""

    def __init__(self, port: int, grader_port: int) -> None:
        self._port, self._grader_port = port, grader_port
        self._writers: set[asyncio.StreamWriter] = set()

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self._port)

    def cut(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._grader_port)
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._copy(reader, far_writer), self._copy(far_reader, writer))

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # cut
        writer.close()


def until_submitted(episode_id: str) -> None:
    """Look past the line until the grader has a source for this episode."""
    with KernelGrader() as grader:
        while not list(grader.submissions(episode_id=episode_id)):
            time.sleep(0.1)


async def outage(url: str, port: int, grader_port: int, code: str) -> list[Any]:
    """The grader is away when a step begins, and again while its source is graded."""
    line = Line(port, grader_port)
    await line.mend()
    async with GenericEnvClient(base_url=url) as env:
        begun = await env.reset(task_id="level1/19_ReLU")
        line.cut()
        told = [await env.step({"code": code})]
        await line.mend()
        stepping = asyncio.ensure_future(env.step({"code": code}))
        await asyncio.to_thread(until_submitted, begun.observation["episode_id"])
        line.cut()
        await asyncio.sleep(1.0)
        await line.mend()
        told.append(await stepping)
        state = await env.state()
    line.cut()
    return [*({**result.observation, "reward": result.reward} for result in told), state]


async def late(url: str) -> list[Any]:
    """What a client is sent: an answer in time, one for a request that came twice, a close instead of a late one."""
    asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    sent: list[dict[str, Any]] = []

    async def slowly(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "websocket.receive":
            await asyncio.sleep(float(message["text"]))
            await send({"type": "websocket.send", "text": message["text"]})

    async def keep(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/ws"}
    serving = asyncio.ensure_future(OneAnswer(slowly, late_s=3.0)(scope, asked.get, keep))
    for text, pause_s in (("0.1", 0.5), ("1", 0.2), ("1", 1.5), ("0.6", 0.1), ("0.2", 1.5), ("5", 6.0)):
        asked.put_nowait({"type": "websocket.receive", "text": text})
        await asyncio.sleep(pause_s)
    asked.put_nowait({"type": "websocket.receive", "text": "0.1"})
    asked.put_nowait({"type": "websocket.disconnect"})
    await asyncio.sleep(0.5)
    serving.cancel()
    return [message.get("text") or message["code"] == TRY_AGAIN_LATER for message in sent]


async def unheard(url: str) -> list[Any]:
    """What a client is sent that waits for no answer until it asks again, and one whose message cannot grow further."""
    asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    sent: list[dict[str, Any]] = []
    listens = asyncio.Event()
    knocks: list[str] = []

    async def at_once(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message["text"]})

    async def keep(message: Any) -> None:
        sent.append(message)

    async def knock() -> None:
        knocks.append("")
        if len(knocks) > 2:
            raise NobodyListens
        await listens.wait()

    scope = {"type": "websocket", "path": "/ws", "extensions": {EXTENSION: {"knock": knock}}}
    serving = asyncio.ensure_future(OneAnswer(at_once, late_s=60.0)(scope, asked.get, keep))
    for text, expected in (("first", 0), ("second", 1), ("third", 2)):
        asked.put_nowait({"type": "websocket.receive", "text": text})
        while len(knocks) == expected:
            await asyncio.sleep(0.01)
        if text == "second":
            listens.set()
        while len(sent) < expected:
            await asyncio.sleep(0.01)
    serving.cancel()
    return [message.get("text") or message["code"] == TRY_AGAIN_LATER for message in sent]
