"""Reads the project's sources for the checks: finds files, blanks comments and strings."""

import os
import re

SKIPPED_DIRECTORIES = {".git", ".cache", "build", "node_modules", "__pycache__", "fuzz_corpus"}

_TOKEN = re.compile(
    r"""//[^\n]*                        # line comment
      | /\*.*?\*/                       # block comment
      | R"(?P<tag>[^()\\ ]{0,16})\(.*?\)(?P=tag)"   # raw string
      | "(?:\\.|[^"\\\n])*"             # string
      | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'        # character; not a digit separator
    """,
    re.VERBOSE | re.DOTALL,
)


def find_files(root, extensions=None):
    """Paths below root, sorted; with extensions, only those."""
    found = []
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in SKIPPED_DIRECTORIES)
        for file in sorted(files):
            if extensions is None or os.path.splitext(file)[1] in extensions:
                found.append(os.path.join(directory, file))
    return found


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def without_comments(text):
    """Comments become spaces; lines and strings stay (include paths are strings)."""

    def keep_strings(match):
        return _blank(match) if match.group(0).startswith("/") else match.group(0)

    return _TOKEN.sub(keep_strings, text)


def code_only(text):
    """Comments, strings and characters become spaces; lines stay."""
    return _TOKEN.sub(_blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
