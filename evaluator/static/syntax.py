"""Turns source text into a syntax tree without ever raising anything but SourceError."""

import ast
import threading
import warnings
from dataclasses import dataclass

_parse_lock = threading.Lock()  # catch_warnings swaps process-wide state


@dataclass
class SourceError(Exception):
    """The text is no Python module. `line` counts from 1, and is None where the parser could not tell."""

    message: str
    line: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


def parse(code: str) -> ast.Module:
    """Parse a module; raises SourceError for bad syntax, NUL bytes, lone surrogates and too deep a nesting."""
    with _parse_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape sequence is no error
        try:
            return ast.parse(code)
        except SyntaxError as error:
            raise SourceError(error.msg or "invalid syntax", error.lineno) from None
        except (RecursionError, MemoryError):
            raise SourceError("the code is nested too deeply for Python's parser") from None
        except ValueError as error:  # NUL bytes, characters that cannot be encoded, endless integer literals
            raise SourceError(str(error)) from None
