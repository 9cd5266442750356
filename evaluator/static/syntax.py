"""Turns source text into a syntax tree without ever raising anything but SourceError."""

import ast
import symtable
import threading
import warnings
from dataclasses import dataclass

from evaluator.static.placement import misplaced

_parse_lock = threading.Lock()  # catch_warnings swaps process-wide state

TOO_DEEP = "the code is nested too deeply for Python's parser"


@dataclass
class SourceError(Exception):
    """The text is no Python module. `line` counts from 1, and is None where the parser could not tell."""

    message: str
    line: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


def parse(code: str) -> ast.Module:
    """Parse a module and check its scopes.

    Raises SourceError for bad syntax (`return` outside a function too), NUL bytes, lone surrogates and too deep a
    nesting. Never compiles: the compiler copies each `finally` body twice, so 20 nested ones fill the memory.
    """
    with _parse_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape sequence is no error
        try:
            tree = ast.parse(code)
            symtable.symtable(code, "<source>", "exec")
        except SyntaxError as error:
            raise SourceError(error.msg or "invalid syntax", error.lineno or None) from None
        except (RecursionError, MemoryError):
            raise SourceError(TOO_DEEP) from None
        except ValueError as error:  # NUL bytes, characters that cannot be encoded, endless integer literals
            raise SourceError(str(error)) from None
    for line, message in misplaced(tree):
        raise SourceError(message, line)
    return tree
