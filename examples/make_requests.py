"""Writes, beside each example kernel, the body that submits it: `python examples/make_requests.py`."""

import json
from pathlib import Path

HERE = Path(__file__).parent
TASK = "level1/19_ReLU"


def body(source: Path) -> str:
    """The body of `POST /submissions` for one kernel."""
    return json.dumps({"task_id": TASK, "language": "triton", "code": source.read_text()}, indent=1) + "\n"


def main() -> None:
    for source in sorted(HERE.glob("relu*.py")):
        source.with_suffix(".json").write_text(body(source))


if __name__ == "__main__":
    main()
