"""C and C++ source with its comments and string literals blanked out, so that only code is looked at."""

import re

# every alternative that opens also ends, at the latest with the text: hostile text cannot make it quadratic
_TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])*            # line comment, continued by a backslash
      | /\*.*?(?:\*/|\Z)             # block comment
      | R"(?P<tag>[^\s()\\]{0,16})\(.*?(?:\)(?P=tag)"|\Z)   # raw string
      | "(?:\\.|[^"\\\n])*"          # string
      | '(?:\\.|[^'\\\n])*'          # character
    """,
    re.VERBOSE | re.DOTALL,
)


def code_only(text: str) -> str:
    """The text with every comment, string and character literal replaced by one space."""
    return _TOKEN.sub(" ", text)
