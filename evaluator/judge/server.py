"""Serves grades over a Unix socket, one connection a grade; a connection that closes ends its runner."""

import faulthandler
import os
import socket
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from evaluator.errors import Cancelled, GraderFault
from evaluator.judge.grade import Judge
from evaluator.submission import Submission
from evaluator.wire import Channel, PeerClosed, WireError

REQUEST_DEADLINE_S = 10.0
# Past every limit of the grade itself by this much, the judge is stuck: it ends, and its starter starts another.
STUCK_AFTER_S = 120.0


def serve(listener: socket.socket, judge: Judge, *, lanes: int, stuck_after_s: float) -> None:
    """Answer connections for ever, as many at once as there are lanes, and one more for those who only ask."""
    with ThreadPoolExecutor(max_workers=lanes + 1, thread_name_prefix="lane") as pool:
        while True:
            connection, _ = listener.accept()
            pool.submit(_serve_one, connection, judge, stuck_after_s)


def _serve_one(connection: socket.socket, judge: Judge, stuck_after_s: float) -> None:
    channel = Channel(connection)
    watchdog = threading.Timer(stuck_after_s, _give_up)
    watchdog.daemon = True
    watchdog.start()
    try:
        _answer(channel, judge)
    except WireError:
        pass  # the worker went away; whatever ran for it is dead
    finally:
        watchdog.cancel()
        channel.close()


def _give_up() -> None:
    faulthandler.dump_traceback()
    os._exit(1)


def _answer(channel: Channel, judge: Judge) -> None:
    request = channel.receive(deadline_s=REQUEST_DEADLINE_S)
    if request.get("op") == "describe":
        channel.send({"describe": judge.describe()})
        return
    looks = {"probe": judge.probe, "canary": judge.canary}
    op = str(request.get("op"))
    answer = _look(op, looks[op]) if op in looks else _grade(channel, judge, request)
    channel.send(answer)
    if answer.get("fault", {}).get("code") in ("judge_error", "device_fault"):
        _end_if_broken(judge)


def _look(op: str, look: Callable[[], dict[str, Any] | None]) -> dict[str, Any]:
    try:
        return {op: look()}
    except GraderFault as fault:
        return {"fault": {"code": fault.code, "detail": fault.detail, "retryable": fault.retryable}}


def _grade(channel: Channel, judge: Judge, request: dict[str, Any]) -> dict[str, Any]:
    def on_phase(name: str) -> None:
        try:
            channel.send({"phase": name})
        except PeerClosed as error:
            raise Cancelled("the worker went away") from error

    try:
        submission = Submission.from_json(request["submission"])
        return {"report": judge.grade(submission, on_phase, channel.fileno()).to_json()}
    except Cancelled:
        return {"cancelled": True}
    except GraderFault as fault:
        return {"fault": {"code": fault.code, "detail": fault.detail, "retryable": fault.retryable}}
    except Exception as error:  # noqa: BLE001 - our own crash must reach the worker as no verdict, never as a zero
        detail = "".join(traceback.format_exception(error))[-4000:]
        return {"fault": {"code": "judge_error", "detail": detail, "retryable": True}}


def _end_if_broken(judge: Judge) -> None:
    """After a sticky CUDA error only a new process can use the device."""
    try:
        judge.probe()
    except GraderFault:
        traceback.print_exc()
        os._exit(1)
