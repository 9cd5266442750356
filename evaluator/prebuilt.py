"""What was built before a device was taken: files by name and SHA-256, and for which machines."""

from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any, Self

# what a machine without a GPU compiles for: Hopper
DEFAULT_ARCHITECTURE = "9.0"
# a build takes its time for each
ARCHITECTURES_MAX = 8


@dataclass(frozen=True)
class Product:
    """One finished file, `DIGEST.NAME.so`, by the SHA-256 of its content."""

    file_name: str
    sha256: str

    def __post_init__(self) -> None:
        if PurePath(self.file_name).name != self.file_name or len(self.sha256) != 64:
            raise ValueError(f"not a product: {self.file_name!r}, {self.sha256!r}")


@dataclass(frozen=True)
class Prebuilt:
    """Every extension of one submission for one architecture (`9.0`); none where the source asks for none.

    `fingerprint` says which compilers and which torch made it: it fits only a machine with the same one.
    """

    architecture: str
    fingerprint: str
    products: tuple[Product, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Raises KeyError, TypeError or ValueError for anything but what `to_json` wrote."""
        products = tuple(Product(str(each["file_name"]), str(each["sha256"])) for each in data["products"])
        return cls(str(data["architecture"]), str(data["fingerprint"]), products)
