"""A grader that is away for a while costs no grade, and no late answer is sent."""

from collections.abc import Callable

import pytest

from launcher.demo_server import OwnServer
from launcher.ports import free_port
from tests.openenv.conftest import Play, door
from tests.services.installation import source

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture
def play(player: Callable[[str], Play]) -> Play:
    """Plays a function with the client of the living package."""
    return player("openenv")


def test_a_grader_that_is_away_costs_no_grade(grader: OwnServer, play: Play) -> None:
    port = free_port()
    with door(grader, "openenv", KERNEL_GRADER_URL=f"http://127.0.0.1:{port}") as url:
        code = source("correct speedup=4.0 eval_s=5", "outage")
        away, told, state = play("outages.outage", url, port=port, grader_port=grader.port, code=code)
    assert (away["outcome"], away["reward"], away["turn"]) == ("unavailable", None, 1)
    assert (told["outcome"], told["reward"], told["graded_turn"]) == ("graded", pytest.approx(2.3), 1)
    assert len(state["history"]) == 1


def test_an_answer_that_nobody_waits_for_is_not_sent(play: Play) -> None:
    assert play("outages.late", "") == ["0.1", "1", "0.2", True]


def test_an_answer_waits_until_somebody_listens(play: Play) -> None:
    assert play("outages.unheard", "") == ["second", True]
