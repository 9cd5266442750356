"""Text made to break the checker: it always answers, quickly enough, with a finding and no exception."""

import random
import string
from importlib import resources

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator.limits import Limits
from evaluator.static import check

FINALLY = (
    "".join("    " * depth + "try: f()\n" + "    " * depth + "finally:\n" for depth in range(25))
    + "    " * 25
    + "f()\n"
)

SYNTAX = [
    ("def f(:\n", 1),
    ("x = 1\nreturn x\n", 2),
    ("\n\nbreak\n", 3),
    ("def f():\n    x = 1\n  y = 2\n", 3),
    ("def f(a, a): pass\n", 1),
    ("def f():\n    nonlocal x\n", 2),
    ("x = 'unclosed\n", 1),
    ("a\0b", 1),
    ("x = 1\n\n\0", 3),
]

DEEP = [
    "(" * 100_000,
    "(" * 100 + ")" * 100 + "(" * 100_000,
    "[" * 5_000 + "]" * 5_000,
    "-" * 200_000 + "1",
    "not " * 60_000 + "1",
    "a" + ".b" * 100_000,
    "f" + "()" * 100_000,
    "f" + "[0]" * 80_000,
    "1" + "+1" * 100_000,
    "1" + " if 1 else 1" * 20_000,
    "lambda: " * 30_000 + "1",
    "x = " * 60_000 + "1",
    "if 1:\n" + "".join(" " * depth + "if 1:\n" for depth in range(1, 120)),
    "f'{" * 1_000,
    "1" * 100_000,
    "x = " + "9" * 5_000,
    "\ud800",
    "# coding: utf-7\nx = 1",
    FINALLY,
    "class A:\n" * 3,
]

LONG = [
    "a = b\n" * 10_000 + "b = c\n" * 10_000 + "c = a\nc.x\n",
    "".join(f"def f{i}(): f{i + 1}()\n" for i in range(9_000)) + "def Model(): pass\nclass ModelNew: f0()\n",
    "x = 'R\"(" * 1 + 'R\\"(' * 40_000 + "'\n",
    "from torch.utils.cpp_extension import load_inline\nload_inline('" + "/*" * 100_000 + "')\n",
    "from torch.utils.cpp_extension import load_inline\nload_inline('" + 'R"(' * 60_000 + "')\n",
    "try:\n    k[0]()\nexcept Exception:\n    pass\n" * 5_000,
    "open('x')\n" * 20_000,
    "import os\n" * 20_000,
    "x = [" + "[]," * 80_000 + "]",
    "@a\n" * 60_000 + "def f(): pass",
]


@pytest.mark.parametrize(("code", "line"), SYNTAX)
def test_syntax_errors_name_their_line(code: str, line: int) -> None:
    (found,) = check(code, "triton")
    assert found.line == line
    assert found.rule in ("syntax", "nul-byte")


@pytest.mark.parametrize("code", DEEP + LONG, ids=range(len(DEEP + LONG)))
@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_hostile_text_is_refused_and_nothing_escapes(code: str, language: str) -> None:
    found = check(code, language)
    assert found
    assert found[0].severity == "error"


@pytest.mark.parametrize("size_bytes", [Limits.source_bytes + 1, 50_000_000])
def test_too_large(size_bytes: int) -> None:
    (found,) = check("#" * size_bytes, "triton")
    assert found.rule == "too-large"


def test_size_counts_bytes_not_characters() -> None:
    assert check("#" + "é" * (Limits.source_bytes // 2), "triton")[0].rule == "too-large"
    assert check("#" + "é" * (Limits.source_bytes // 2 - 1), "triton")[0].rule != "too-large"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=400))
def test_any_text_is_answered(text: str) -> None:
    assert check(text, "triton")


def test_any_damage_to_real_code_is_answered() -> None:
    prompts = resources.files("evaluator.prompts")
    sources = [prompts.joinpath(f"example_{language}.txt").read_text() for language in ("triton", "cuda")]
    chance = random.Random(7)
    for _ in range(1_000):
        code = list(chance.choice(sources))
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(code))
            code[at : at + chance.randint(0, 3)] = chance.choices(string.printable, k=chance.randint(0, 3))
        check("".join(code), "cuda")
