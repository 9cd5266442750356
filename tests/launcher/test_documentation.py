"""The documentation names what there is."""

import re

from launcher.commands import REPOSITORY


def test_places_that_the_readme_names_exist() -> None:
    text = (REPOSITORY / "README.md").read_text()
    table = text.partition("## To change X")[2]
    named = {name for name in re.findall(r"`([\w./]+)`", table) if "/" in name and not name.startswith(".")}
    links = set(re.findall(r"\]\(([\w./]+)\)", text))
    missing = {name for name in named | links if not (REPOSITORY / name).exists()}
    assert not missing
