"""Serves grades over a Unix socket, one connection a grade; a connection that closes ends its runner."""

import faulthandler
import socket
import traceback
from typing import Any

from evaluator.errors import Cancelled, GraderFault
from evaluator.judge.grade import Judge
from evaluator.submission import Submission
from evaluator.wire import Channel, PeerClosed, WireError

REQUEST_DEADLINE_S = 10.0
# Past every limit of the grade itself by this much, the judge is stuck: it ends, and its starter starts another.
STUCK_AFTER_S = 120.0


def serve(listener: socket.socket, judge: Judge, stuck_after_s: float) -> None:
    """Answer one connection after another, for ever."""
    while True:
        connection, _ = listener.accept()
        channel = Channel(connection)
        faulthandler.dump_traceback_later(stuck_after_s, exit=True)
        try:
            _answer(channel, judge)
        except WireError:
            pass  # the worker went away; whatever ran for it is dead
        finally:
            faulthandler.cancel_dump_traceback_later()
            channel.close()


def _answer(channel: Channel, judge: Judge) -> None:
    request = channel.receive(deadline_s=REQUEST_DEADLINE_S)
    if request.get("op") == "describe":
        channel.send({"describe": judge.describe()})
        return
    channel.send(_grade(channel, judge, request))


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
