#!/usr/bin/env python3
"""Checks the rules of docs/style.md that a machine can read.

Limits for the eye (functions of 70 lines, files of 600) are listed and do not fail; the hard caps
(120 and 800) do. Notes to self, machine paths, tabs, trailing spaces, headers without #pragma once
and files that do not say their purpose fail.

usage: style_test.py [ROOT]            the rules above
       style_test.py --format [ROOT]   layout by clang-format; exit code 77 without the tool
       style_test.py --scripts [ROOT]  shell scripts by shellcheck; exit code 77 without the tool
"""

import ast
import os
import re
import shutil
import subprocess
import sys

from source_text import code_only, find_files, line_of, read

FUNCTION_LINES = 70
FUNCTION_LINES_HARD = 120
FILE_LINES = 600
FILE_LINES_HARD = 800
EXIT_SKIPPED = 77

TEXT_EXTENSIONS = {".h", ".cc", ".c", ".py", ".sh", ".cmake", ".md", ".txt", ".json", ".yaml", ".yml"}
CPP_EXTENSIONS = {".h", ".cc"}
# Put together here so that this file does not find itself.
NOTES = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:wo" r"rk|ho" r"me)/\w")
NOT_FUNCTION = re.compile(
    r"\s*(?:template\s*<[^{]*>\s*)?(?:inline\s+)?(?:namespace|class|struct|union|enum)\b"
)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)


def function_spans(text):
    """(name, first line, number of lines) of each outermost function body, by matching braces."""
    code = PREPROCESSOR.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), code_only(text))
    spans = []
    open_braces = []  # for each: (name, line) when it opens an outermost function, else None
    head_start = 0    # where the text that heads the next brace begins
    for match in re.finditer(r"[{};]", code):
        if match.group(0) == "{":
            head = code[head_start:match.start()]
            name = None if any(open_braces) else function_name(head)
            line = line_of(code, head_start + len(head) - len(head.lstrip()))
            open_braces.append((name, line) if name else None)
        elif match.group(0) == "}" and open_braces:
            entry = open_braces.pop()
            if entry:
                spans.append((*entry, line_of(code, match.start()) - entry[1] + 1))
        if not any(open_braces):
            head_start = match.end()
    return spans


def function_name(head):
    """The name when the text before a brace heads a function, else None."""
    flat = head
    while re.search(r"\([^()]+\)", flat):
        flat = re.sub(r"\([^()]+\)", "()", flat)
    if "(" not in flat or NOT_FUNCTION.match(flat):
        return None
    if "operator" not in flat and re.search(r"(?<![=!<>])=(?!=)", flat):
        return None  # a table or another initialiser
    name = re.search(r"(operator\s*[^\s(]+|[\w:~]+)\s*\(", flat)
    return name.group(1) if name else None


def python_spans(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def check_lengths(shown, text, faults, remarks):
    lines = text.count("\n")
    if lines > FILE_LINES:
        note = f"{shown}: {lines} lines, more than {FILE_LINES}"
        (faults if lines > FILE_LINES_HARD else remarks).append(note)
    spans = python_spans(text) if shown.endswith(".py") else function_spans(text)
    for name, line, length in spans:
        if length > FUNCTION_LINES:
            note = f"{shown}:{line}: {name} has {length} lines, more than {FUNCTION_LINES}"
            (faults if length > FUNCTION_LINES_HARD else remarks).append(note)


def check_text(shown, text):
    """Faults that any text file can have."""
    for number, line in enumerate(text.split("\n"), start=1):
        if NOTES.search(line):
            yield f"{shown}:{number}: a note to self; do it or write an issue"
        if MACHINE_PATH.search(line):
            yield f"{shown}:{number}: a path of one machine"
        if line != line.rstrip() and not shown.endswith(".md"):
            yield f"{shown}:{number}: spaces at the end of the line"
        if "\t" in line and not shown.endswith((".md", ".txt")):
            yield f"{shown}:{number}: a tab"
    if text and not text.endswith("\n"):
        yield f"{shown}: no newline at the end"


def has_header(path):
    """x.cc, x_test.cc, x_property_test.cc and x_fuzz.cc are explained by x.h beside them."""
    stem = re.sub(r"(_property)?(_test|_fuzz)?\.cc$", "", path)
    return path.endswith(".cc") and os.path.exists(stem + ".h")


def check_cpp(root, shown, text):
    if not text.startswith("//") and not has_header(os.path.join(root, shown)):
        yield f"{shown}:1: the file does not open with a comment that says its purpose"
    if shown.endswith(".h") and "#pragma once" not in text:
        yield f"{shown}:1: no #pragma once"
    if re.search(r"^\s*using\s+namespace\b", code_only(text), re.MULTILINE) and shown.endswith(".h"):
        yield f"{shown}: using namespace in a header"


def check(root):
    """(faults, remarks): what fails, and what is only listed."""
    faults, remarks = [], []
    for path in find_files(root):
        shown = os.path.relpath(path, root)
        extension = os.path.splitext(path)[1]
        if extension not in TEXT_EXTENSIONS and not is_script(path):
            continue
        text = read(path)
        faults += check_text(shown, text)
        if extension in CPP_EXTENSIONS:
            faults += check_cpp(root, shown, text)
        if extension in CPP_EXTENSIONS or extension == ".py":
            check_lengths(shown, text, faults, remarks)
    return faults, remarks


def is_script(path):
    if os.path.splitext(path)[1] not in ("", ".sh") or os.path.islink(path):
        return False
    with open(path, "rb") as file:
        return file.readline(32).startswith((b"#!/bin/bash", b"#!/usr/bin/env bash")) or path.endswith(".sh")


def run_tool(command, files):
    """The finished process over the files, or None without the tool."""
    if not shutil.which(command[0]):
        print(f"{command[0]} is not installed")
        return None
    return subprocess.run([*command, *files], check=False, capture_output=True, text=True)


def check_format(root):
    files = find_files(root, CPP_EXTENSIONS)
    done = run_tool(["clang-format-19", "--dry-run", "--Werror"], files)
    if done is None:
        return EXIT_SKIPPED
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.MULTILINE)))
    if wrong:
        shown = " ".join(os.path.relpath(path, root) for path in wrong)
        print(f"not in our layout; run: clang-format-19 -i {shown}")
    elif done.returncode:
        print(done.stderr)
    return 1 if done.returncode or not files else 0


def check_scripts(root):
    os.chdir(root)  # "shellcheck source=" comments are relative to the root
    files = [path for path in find_files(root) if is_script(path)]
    done = run_tool(["shellcheck", "-x"], files)
    if done is None:
        return EXIT_SKIPPED
    print(done.stdout + done.stderr)
    return 1 if done.returncode or not files else 0


def main():
    arguments = sys.argv[1:]
    mode = arguments.pop(0) if arguments and arguments[0].startswith("--") else ""
    root = os.path.abspath(arguments[0] if arguments else os.path.join(os.path.dirname(__file__), ".."))
    if mode == "--format":
        return check_format(root)
    if mode == "--scripts":
        return check_scripts(root)
    if mode:
        print(__doc__)
        return 2
    faults, remarks = check(root)
    for remark in remarks:
        print(f"long: {remark}")
    for fault in faults:
        print(f"fault: {fault}")
    print(f"{len(faults)} faults, {len(remarks)} long functions and files")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
