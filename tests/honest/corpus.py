"""The honest corpus: kernels in many styles, each of which a grader has to accept.

# task: level1/19_ReLU
# style: what is particular about it, in a few words
"""

from dataclasses import dataclass
from pathlib import Path

from evaluator.submission import Language

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Honest:
    """One file; `name` is its language and stem."""

    name: str
    code: str
    task: str
    language: Language
    style: str

    @classmethod
    def read(cls, path: Path) -> "Honest":
        code = path.read_text()
        task, style = (code.split(f"# {key}:", 1)[1].split("\n", 1)[0].strip() for key in ("task", "style"))
        language: Language = "cuda" if path.parent.name == "cuda" else "triton"
        return cls(f"{language}/{path.stem}", code, task, language, style)


TRITON = [Honest.read(path) for path in sorted(HERE.glob("triton/*.py"))]
CUDA = [Honest.read(path) for path in sorted(HERE.glob("cuda/*.py"))]
CORPUS = [*TRITON, *CUDA]
