"""Shares a list out to several runs: each takes every n-th item."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """Part `part` of `parts`, from 1."""

    part: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of a command line, such as 2/4. Raises argparse.ArgumentTypeError."""
        part, _, parts = text.partition("/")
        if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
            raise argparse.ArgumentTypeError(f"{text!r} is not such as 2/4, the second of four parts")
        return cls(int(part), int(parts))

    def of(self, items: Sequence[T]) -> Sequence[T]:
        """The items of this part."""
        return items[self.part - 1 :: self.parts]


def add_shard_option(parser: argparse.ArgumentParser) -> None:
    """`--shard`, by default all there is."""
    help_ = "such as 2/4: the second of four parts"
    parser.add_argument("--shard", type=Shard.parse, default=Shard(1, 1), metavar="PART/PARTS", help=help_)
