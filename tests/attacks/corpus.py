"""The corpus: files that each try one way to be paid without work, with a header that says what must come of it.

# task: level1/19_ReLU
# language: triton
# device: cpu, gpu, or any
# tries: what the file attempts, in a sentence
# static: caught | evades          whether the static check refuses it; no defence may depend on that
# verdicts: incorrect timeout      the verdicts that are right where the static check is not asked
# pays: why `correct` is right     it earns what the same kernel earns without the attack, and no more
# remains: why `correct` cannot be helped
"""

from dataclasses import dataclass
from pathlib import Path

from evaluator.submission import Language
from evaluator.verdicts import Verdict

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Attack:
    """One file; `pays` and `remains` are empty for all but a few."""

    name: str
    code: str
    task: str
    language: Language
    device: str
    tries: str
    caught: bool
    verdicts: frozenset[Verdict]
    pays: str = ""
    remains: str = ""

    @classmethod
    def read(cls, path: Path) -> "Attack":
        code = path.read_text()
        header = dict(line[2:].split(": ", 1) for line in code.splitlines()[:10] if line.startswith("# "))
        if header["static"] not in ("caught", "evades") or header["device"] not in ("cpu", "gpu", "any"):
            raise ValueError(f"{path}: static is caught or evades, device is cpu, gpu or any")
        return cls(
            name=f"{path.parent.name}/{path.stem}",
            code=code,
            task=header["task"],
            language="cuda" if header["language"] == "cuda" else "triton",
            device=header["device"],
            tries=header["tries"],
            caught=header["static"] == "caught",
            verdicts=frozenset(Verdict(word) for word in header["verdicts"].split()),
            pays=header.get("pays", ""),
            remains=header.get("remains", ""),
        )


CORPUS = [Attack.read(path) for path in sorted(HERE.glob("*/*.py"))]
CPU = [attack for attack in CORPUS if attack.device in ("cpu", "any")]
GPU = [attack for attack in CORPUS if attack.device in ("gpu", "any")]
