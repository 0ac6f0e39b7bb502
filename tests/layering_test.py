#!/usr/bin/env python3
"""Checks every #include against the layers' table.

The table is src/CMakeLists.txt itself: add_layer(NAME [PURE] DEPENDS ...) says what a layer may
include, so the linker and this test obey the same lines. Also checked: the table in
docs/architecture.md says the same, every folder of src/ is a declared layer, includes start at src/, heavy libraries stay out of headers, and PURE layers use no
I/O, no clock, no thread and no library but the few named here.

usage: layering_test.py [ROOT]
"""

import os
import re
import sys

from source_text import code_only, find_files, line_of, read, without_comments

# Libraries that PURE layers may include, by folder.
PURE_LIBRARIES = {"fmt", "tl", "tsl"}

# Standard headers that bring in I/O, clocks or threads.
IMPURE_HEADERS = {
    "barrier", "chrono", "condition_variable", "ctime", "csignal", "filesystem", "fstream",
    "future", "iostream", "latch", "mutex", "semaphore", "shared_mutex", "stop_token",
    "syncstream", "thread",
}

# Names that do the same without such a header.
IMPURE_NAMES = re.compile(
    r"\b(system_clock|steady_clock|high_resolution_clock|clock_gettime|gettimeofday|random_device"
    r"|fopen|freopen|getenv|ifstream|ofstream|fstream|pthread_create|jthread|std::thread"
    r"|std::cout|std::cin|std::cerr|std::clog|sleep_for|sleep_until)\b"
)

# Libraries whose headers are dear to compile: in .cc files, or in a header that only .cc files of
# its own layer include.
HEAVY = re.compile(r"^(simdjson|yaml-cpp|CLI|zlib|boost|curl|openssl|prometheus|spdlog)([/.]|$)")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
TEST_FILE = re.compile(r"_(test|fuzz)\.cc$")


def read_layers(cmake_text):
    """{layer: (pure, allowed layers)} in the order of declaration."""
    layers = {}
    text = re.sub(r"#[^\n]*", "", cmake_text)
    for call in re.finditer(r"\badd_layer\s*\(([^)]*)\)", text):
        name, *words = call.group(1).split()
        section, pure, depends = None, False, []
        for word in words:
            if word == "PURE":
                pure = True
            elif word in ("DEPENDS", "LINKS", "PRIVATE_LINKS"):
                section = word
            elif section == "DEPENDS":
                depends.append(word)
        layers[name] = (pure, depends)
    return layers


def check_table(layers):
    """A layer depends only on layers declared above it, so there is no cycle."""
    seen = set()
    for name, (pure, depends) in layers.items():
        for below in depends:
            if below not in seen:
                yield f"src/CMakeLists.txt: {name} depends on {below}, which is not declared above it"
            elif pure and not layers[below][0]:
                yield f"src/CMakeLists.txt: {name} is PURE but depends on {below}, which is not"
        seen.add(name)


def check_document(root, layers):
    """docs/architecture.md has a row "| `layer` | ... | yes or no | allowed layers |" for each."""
    path = os.path.join(root, "docs", "architecture.md")
    text = read(path) if os.path.exists(path) else ""
    rows = re.findall(r"^\| `(\w+)` \|.*\| (yes|no) \|([^|]*)\|$", text, re.MULTILINE)
    shown = {name: (pure == "yes", allowed.split()) for name, pure, allowed in rows}
    for name in {**layers, **shown}:
        if shown.get(name) != layers.get(name):
            yield f"docs/architecture.md: layer {name} differs from src/CMakeLists.txt"


def check_include(layer, layers, path, header, quoted):
    """The reason why this include is wrong, or None."""
    pure, depends = layers[layer]
    first = header.split("/")[0]
    is_test = bool(TEST_FILE.search(path))
    if quoted:
        if first not in layers or "/" not in header:
            return f'"{header}" does not start with a layer; write "layer/file.h"'
        if first != layer and first not in depends:
            return f"layer {layer} may not include {first} (allowed: {', '.join(depends) or 'none'})"
        return None
    if first in layers and "/" in header:
        return f"<{header}> is ours; include it with quotes"
    if pure and not is_test:
        if header in IMPURE_HEADERS:
            return f"layer {layer} is pure: no I/O, clock or thread, so no <{header}>"
        if ("/" in header or header.endswith(".h")) and first not in PURE_LIBRARIES:
            return f"layer {layer} is pure: <{header}> is neither C++ nor one of its libraries"
    return None


def check_file(root, layer, layers, path):
    text = read(path)
    shown = os.path.relpath(path, root)
    code = without_comments(text)
    for match in INCLUDE.finditer(code):
        header, quoted = match.group(2), match.group(1) == '"'
        where = f"{shown}:{line_of(code, match.start(1))}"
        reason = check_include(layer, layers, path, header, quoted)
        if reason:
            yield f"{where}: {reason}"
        elif quoted and not os.path.exists(os.path.join(root, "src", header)):
            yield f'{where}: there is no "{header}" in src/'
    if layers[layer][0] and not TEST_FILE.search(path):
        bare = INCLUDE.sub("", code_only(text))
        for match in IMPURE_NAMES.finditer(bare):
            where = f"{shown}:{line_of(bare, match.start())}"
            yield f"{where}: layer {layer} is pure: no I/O, clock or thread, so no {match.group(0)}"


def check_heavy(source, files):
    """Heavy libraries do not reach further than the .cc files of one layer."""
    includes = {}  # path from src/: what it includes
    for path in files:
        found = INCLUDE.finditer(without_comments(read(path)))
        includes[os.path.relpath(path, source)] = [match.group(2) for match in found]
    for path, headers in includes.items():
        heavy = [header for header in headers if HEAVY.match(header)]
        if not path.endswith(".h") or not heavy:
            continue
        for other, others_headers in includes.items():
            if path not in others_headers:
                continue
            if other.endswith(".h") or other.split(os.sep)[0] != path.split(os.sep)[0]:
                yield f"src/{other}: \"{path}\" brings in <{heavy[0]}>, which is dear to compile; " \
                      "include it only in .cc files of its own layer"


def check(root):
    """All faults, one sentence each."""
    source = os.path.join(root, "src")
    layers = read_layers(read(os.path.join(source, "CMakeLists.txt")))
    if not layers:
        return ["src/CMakeLists.txt: no add_layer found"]
    files = find_files(source, {".h", ".cc"})
    faults = [*check_table(layers), *check_document(root, layers), *check_heavy(source, files)]
    for path in files:
        layer = os.path.relpath(path, source).split(os.sep)[0]
        if layer in layers:
            faults += check_file(root, layer, layers, path)
        else:
            shown = os.path.relpath(path, root)
            faults.append(f"{shown}: \"{layer}\" is no layer declared in src/CMakeLists.txt")
    return faults


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    faults = check(os.path.abspath(root))
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults in the layering")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
