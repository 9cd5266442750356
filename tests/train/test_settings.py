"""A folder goes on only under the settings that it was begun with."""

import json
from pathlib import Path

import pytest

from train.settings import OtherSettings, keep


def test_a_folder_is_held_to_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "run" / "settings.json"
    keep(path, {"seed": 1, "tasks": ("a", "b")})
    keep(path, {"seed": 1, "tasks": ["a", "b"]})  # the same in JSON
    with pytest.raises(OtherSettings, match=r"run was begun with other settings \(seed was 1 and is 2\)"):
        keep(path, {"seed": 2, "tasks": ["a", "b"]})
    with pytest.raises(OtherSettings, match=r"\(tasks was \['a', 'b'\] and is None, level was None and is 3\)"):
        keep(path, {"seed": 1, "level": 3})
    assert json.loads(path.read_text())["seed"] == 1
    keep(path, {"seed": 2}, anew=True)
    assert json.loads(path.read_text()) == {"seed": 2}
