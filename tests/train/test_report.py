"""Reports of real rollouts: right figures, plots, and hostile sources that stay text."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from kernel_grader_client import KernelGrader
from typer.testing import CliRunner

from launcher.demo_server import OwnServer
from tests.services.installation import TASK, source
from tests.train.made_up import episode, turn
from train.episodes import Episodes
from train.plays import Answer, Opening, record_of, suspicious_of
from train.recording import SUSPICIOUS, Recorder
from train.records import Stamp
from train.report.__main__ import cli, write
from train.report.examples import set_aside
from train.report.figures import figures_of, over_time
from train.report.hostile import fenced, inline, visible

TASKS = (TASK, "level1/23_Softmax", "level2/76_Gemm_Add_ReLU")
SCRIPT = "</pre></details><script>document.title = 'run'</script><img src=x onerror=alert(1)>"
BIDI = "access = '\u202e⁦// check ⁩⁦user'"
# what a policy may write into a source, to be read in a report
HOSTILE = f"# {SCRIPT}\n# ```\n# # A heading | and [a link](javascript:alert(1))\n# {BIDI}\nimport subprocess\n"


def answers(step: int) -> list[Answer]:
    """A policy that learns: of its three answers more are right with each step, and one tries to cheat."""
    directives = ["incorrect", "incorrect", "timeout"] if step == 0 else ["correct speedup=2.0"] * 3
    if step == 1:
        directives = ["correct speedup=1.5", "incorrect", "rejected_timing"]
    codes = [source(directive, f"{step} {number}") for number, directive in enumerate(directives)]
    if step == 1:
        codes[1] = HOSTILE + codes[1] + "\nsubprocess.run('x')\n"
    return [Answer(f"```python\n{code}````\n```", tokens=9) for code in codes]


@pytest.fixture(scope="module")
def run(server: OwnServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps of training between two evaluations, played through a real server."""
    folder = tmp_path_factory.mktemp("run")
    openings = [Opening(task_id, max_turns=1, sample=number) for number, task_id in enumerate(TASKS)]
    with KernelGrader(server.url, trust_env=False) as grader, Recorder(folder) as recorder:
        for step, phase in [(0, "eval"), (0, "train"), (1, "train"), (2, "train"), (3, "eval")]:
            stamp = Stamp("2026-01-01T00:00:00Z", recorder.session, step, 0, phase, "a run")  # type: ignore[arg-type]
            plays = Episodes(grader, run_id="report").play(openings, lambda _, step=step: answers(step))  # type: ignore[misc]
            recorder.write([record_of(play, stamp, play.rewards[0] if play.rewards else None) for play in plays])
            recorder.write_suspicious([entry for play in plays for entry in suspicious_of(play, stamp)])
    return folder


class Page(HTMLParser):
    """The elements and the visible text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.text += " " if tag in ("td", "th") else ""

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_html_is_one_file_that_runs_nothing(run: Path) -> None:
    write(run, run)
    page = Page((run / "report.html").read_text())
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "iframe", "object", "a"}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    (policy,) = [each["content"] for tag, each in page.elements if tag == "meta" and "http-equiv" in each]
    assert (policy or "").startswith("default-src 'none'")
    sources = [each["src"] or "" for tag, each in page.elements if tag == "img"]
    assert all(each.startswith("data:image/svg+xml;base64,") for each in sources)
    drawn = [ElementTree.fromstring(base64.b64decode(each.partition(",")[2])) for each in sources]
    words = [
        " ".join("".join(text.itertext()) for text in svg.iter("{http://www.w3.org/2000/svg}text")) for svg in drawn
    ]
    reward, stages, speedup, tried = words  # nothing was timed on a GPU: no roofline
    assert "evaluation, mean" in reward
    assert "correctness" in stages
    assert TASKS[2] in speedup
    assert "rejected timing" in tried
    assert SCRIPT in page.text  # as text, and whole
    assert "\\u202e" in page.text
    assert "\u202e" not in page.text


def test_the_figures_are_those_of_the_run(run: Path) -> None:
    write(run, run)
    page = re.sub(r"\s+", " ", Page((run / "report.html").read_text()).text)
    assert "Run a run: 3 updates, 2 evaluations, 15 episodes with 15 turns on 3 tasks, 0 episodes not graded" in page
    assert "Evaluation at step 0: pass@1 0.0 %, fast_1 0.0 %, reward 0." in page
    assert "Evaluation at step 3: pass@1 100.0 %, fast_1 100.0 %, reward 1.3." in page
    # one of three is right at step 1, and pays 0.3 + log2(1.5)
    assert "step 1 3 0 0.295 0.295 33.3 % 1.5" in page
    assert "process 1 1 claimed-time 1 1" in page


def test_markdown_holds_hostile_text_in(run: Path) -> None:
    write(run, run)
    text = (run / "report.md").read_text()
    outside, fence = [], ""
    for line in text.split("\n"):
        mark = re.match(r"(`{3,})", line)
        if fence:
            fence = "" if line == fence else fence
        elif mark:
            fence = mark[1]
        else:
            outside.append(line)
    assert fence == ""
    assert SCRIPT in text
    assert not [line for line in outside if "script" in line or "A heading" in line]
    assert next(line for line in outside if line.startswith("#")) == "# Training of a kernel policy"
    assert {path.stem for path in (run / "plots").iterdir()} == set(re.findall(r"\(plots/(\w+)\.svg\)", text))
    rows = [line for line in outside if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) >= 3 for row in rows)


def test_before_and_after_from_evaluations_and_examples_by_kind(run: Path, tmp_path: Path) -> None:
    for name, verdict in (("before", "incorrect"), ("after", "correct")):
        with Recorder(tmp_path / name) as recorder:
            speedup = 3.0 if verdict == "correct" else None
            recorder.write([episode(TASK, turn(1, verdict, speedup, roofline_frac=speedup and 0.5))])
    kinds = {entry["verdict"] for entry in map(json.loads, (run / SUSPICIOUS).read_text().splitlines())}
    assert kinds == {"rejected_timing", "format_violation"}
    options = ["--before", str(tmp_path / "before"), "--after", str(tmp_path / "after"), "--out", str(tmp_path)]
    done = CliRunner().invoke(cli, [str(run), *options, "--examples", "1"])
    assert (done.exit_code, str(tmp_path / "report.html") in done.stdout) == (0, True), done.output
    page = Page((tmp_path / "report.html").read_text())
    text = re.sub(r"\s+", " ", page.text)
    assert f"{TASK} 0.0 % 100.0 % 0 1 – 3 – 50.0 %" in text
    assert len([tag for tag, _ in page.elements if tag == "details"]) == 2
    assert (tmp_path / "plots" / "roofline.svg").exists()
    assert CliRunner().invoke(cli, [str(run), *options[:2]]).exit_code == 2
    assert CliRunner().invoke(cli, [str(tmp_path)]).exit_code == 1


def test_steps_are_joined_where_they_are_many() -> None:
    episodes = [episode(TASK, turn(1, "correct" if step >= 50 else None), step=step) for step in range(100)]
    spans = over_time(episodes, spans=10)
    assert [span.name for span in spans][:2] == ["0 to 9", "10 to 19"]
    assert [span.not_graded for span in spans] == [10] * 5 + [0] * 5
    assert [span.reward_mean for span in spans] == [None] * 5 + [1.0] * 5
    compared = figures_of([_trained(each.step, each.correct) for each in episodes]).comparison
    assert compared is not None
    assert (compared.before_name, compared.after_name) == ("training, first 20 steps", "training, last 20 steps")
    assert (compared.before.samples, compared.before.pass_at[1], compared.after.pass_at[1]) == (20, 0.0, 1.0)


def test_turns_and_sources_that_were_set_aside_are_counted_apart() -> None:
    """A policy writes the same source again and again."""
    entry = {"step": 0, "task_id": TASK, "submission_id": "", "reward": 0.0, "speedup": None, "feedback": ""}
    timed = {**entry, "verdict": "correct", "rules": []}
    refused = {**entry, "verdict": "format_violation", "rules": ["syntax", "process"], "code": "c"}
    aside = set_aside([*({**timed, "code": code} for code in "aaba"), refused], each=5)
    assert aside.counts == {"suspicious timing": 4, "process": 1}
    assert aside.sources == {"suspicious timing": 2, "process": 1}
    assert sorted(example.code for example in aside.shown) == ["a", "b", "c"]
    assert [example.code for example in set_aside([refused, refused], each=0).shown] == []


def _trained(step: int, correct: bool):  # type: ignore[no-untyped-def]
    return episode(TASK, turn(1, "correct" if correct else "incorrect"), step=step, phase="train")


@pytest.mark.parametrize(
    "text", ["```\n````python\n`````", "a\x00b\x1b[31m\u2028c\ud800", "\u202eabc\u2066", "line\r\nline\rline"]
)
def test_no_text_ends_its_block_or_hides(text: str) -> None:
    first, *middle, last = fenced(text).split("\n")
    assert last == first
    assert first not in middle
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", fenced(text))
    assert "\n" not in inline(text)


def test_long_texts_are_cut() -> None:
    assert visible("x" * 10_000).endswith("more characters")
    assert visible("\n" * 10_000).endswith("more lines")
    assert inline("a|b [c](d) <e> https://f www.g") == r"a\|b \[c\](d) \<e\> https\://f www\.g"
