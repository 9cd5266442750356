"""Shards share a list out: every item in one of them, and what is no shard is refused by name."""

import argparse

import pytest

from evaluator.shards import Shard, add_shard_option


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_every_item_is_in_one_part(parts: int) -> None:
    items = list(range(5))
    shared = [item for part in range(1, parts + 1) for item in Shard.parse(f"{part}/{parts}").of(items)]
    assert sorted(shared) == items


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "a/2", "1/2/3", "-1/2"])
def test_what_is_no_shard_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_shard_option(parser)
    with pytest.raises(SystemExit):
        parser.parse_args([f"--shard={text}"])
    assert "is not such as 2/4" in capsys.readouterr().err
