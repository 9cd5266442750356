"""What is taken from a policy's text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_grader_client.adapters import extract_code

MODEL = "import torch\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
OTHER = "print('a test')\n"


def fenced(code: str, language: str = "python", fence: str = "```") -> str:
    return f"{fence}{language}\n{code}{fence}\n"


CASES = {
    "one block": (f"Here:\n\n{fenced(MODEL)}Done.", MODEL),
    "no language": (fenced(MODEL, ""), MODEL),
    "tildes": (fenced(MODEL, fence="~~~"), MODEL),
    "upper case": (fenced(MODEL, "Python"), MODEL),
    "words after the language": (f"```python title=kernel.py\n{MODEL}```", MODEL),
    "carriage returns": (fenced(MODEL).replace("\n", "\r\n"), MODEL),
    "the last model of several": (fenced(OTHER) + fenced(MODEL.replace("pass", "x = 1")) + fenced(MODEL), MODEL),
    "a test after the model": (fenced(MODEL) + "Try it:\n" + fenced(OTHER), MODEL),
    "a shell command after the model": (fenced(MODEL) + fenced("pip install x\n", "sh"), MODEL),
    "no model: the last Python": (fenced("a = 1\n") + fenced(OTHER) + fenced("ls\n", "sh"), OTHER),
    "no model and no Python": (fenced("ls\n", "sh"), None),
    "a longer fence around a shorter": (fenced(f'"""\n```\n"""\n{MODEL}', fence="````"), f'"""\n```\n"""\n{MODEL}'),
    "cut off": (f"```python\n{MODEL}    x = ", f"{MODEL}    x = \n"),
    "no fence": (MODEL, MODEL),
    "no code": ("I cannot do that.", None),
    "a model in words": ("I would write class ModelNew here.", None),
    "nothing": ("", None),
    "a thought": (f"<think>\n{fenced(OTHER + MODEL)}</think>\n{fenced(MODEL)}", MODEL),
    "a thought that the prompt opened": (f"hm\n{fenced(OTHER + MODEL)}</think>\n{fenced(MODEL)}", MODEL),
    "a thought alone": (f"<think>{fenced(MODEL)}</think>", None),
    "a thought that never ends": (f"<think>{fenced(MODEL)}", None),
    "an answer, then a thought that never ends": (f"{fenced(MODEL)}<thinking>{fenced(OTHER + MODEL)}", MODEL),
    "two thoughts": (f"<think>a</think>{fenced(OTHER)}<THINKING>b</THINKING>{fenced(MODEL)}", MODEL),
}


@pytest.mark.parametrize(("text", "code"), CASES.values(), ids=CASES)
def test_of_each_kind(text: str, code: str | None) -> None:
    assert extract_code(text) == code


@given(st.text(alphabet="`~<>/think \nclassModelNew:", max_size=300))
def test_any_text_has_code_or_none(text: str) -> None:
    assert extract_code(text) is None or extract_code(text)


@given(st.text(alphabet=st.characters(exclude_characters="`~<>\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")))
def test_a_fenced_source_comes_back_whole(body: str) -> None:
    code = f"{MODEL}{body}\n"
    assert extract_code(f"So:\n{fenced(code)}Done.") == code
